// SPDX-License-Identifier: Apache-2.0
// Columns of tables of points.
import {failedText, isOfTransfers} from './data.js';
import {metricText, shown} from './format.js';

export function axisColumns(run, set) {
  return run.axes.filter((axis) => axis.values.length > 1 || axis.number === 0).map((axis) => ({
    title: axis.name, meaning: axis.meaning, number: axis.number !== 0,
    text: (i) => axis.texts[set.axis(axis.number)[i]],
    value: (i) => (axis.numbers || axis.values)[set.axis(axis.number)[i]],
  }));
}

/** A column of words; rows are points, or `of` takes what they are. */
export const wordColumn = (title, of, meaning) => ({title, meaning, text: (row) => shown(of(row)), value: of});
export const seedColumn = (set) => ({title: 'seed', number: true, text: (i) => String(set.named('seed')[i]), value: (i) => set.named('seed')[i]});

/** `each`: a sum over the run, shown for one transfer. */
export function metricColumn(run, set, metric, title = metric.name, each = false) {
  const transfers = run.metricNamed('transfers');
  const of = (i) => (each && transfers && set.metric(transfers.number)[i] > 0 ? set.metric(transfers.number)[i] : 1);
  const value = (i) => set.metric(metric.number)[i] / of(i);
  const halfWidth = (i) => set.halfWidth(metric.number)[i] / of(i);
  const unit = each ? (metric.unit === '1' ? '/op' : `${metric.unit}/op`) : metric.unit;
  return {title, unit, number: true, measured: true, value, halfWidth,
    meaning: `${metric.name}: ${metric.meaning}${each ? ', for each transfer' : ''}`,
    text: (i) => metricText(value(i), metric.unit, halfWidth(i)), small: (i) => isOfTransfers(metric) && failedText(set, [i])};
}

/** For a CSV file with latencies or goodputs. */
export const failureColumns = (set) => [['failed transfers', 'failed'], ['unfinished seeds', 'unfinished']]
  .map(([title, name]) => ({title, value: (i) => set.named(name)[i]}));

/** Behind a metric's column in a CSV file, where there are means. */
export const halfWidthColumn = (column) => ({...column, title: `${column.title} ±`, value: column.halfWidth});

export const isZero = (set, metric) => set.metric(metric.number).every((value) => value === 0 || Number.isNaN(value));

/** Why a point measured nothing; null when it did. */
export function remarkOf(run, set) {
  const status = set.named('status');
  const reason = set.named('reason');
  return (i) => {
    const text = run.statuses[status[i]];
    if (text === 'complete' || text === 'check failed') return null;
    return run.reasons[reason[i]] ? shown(`${text}: ${run.reasons[reason[i]]}`) : text;
  };
}
