// SPDX-License-Identifier: Apache-2.0
// The experiment's reports, each with its chart and its table, and the explorer.
import {axisColumns, failureColumns, halfWidthColumn, isZero, metricColumn, remarkOf, wordColumn} from './columns.js';
import {el} from './dom.js';
import {Explorer} from './explorer.js';
import {isOfTransfers, labelOf} from './data.js';
import {metricText, shown, withUnit} from './format.js';
import {matrixTables, verdictTable} from './matrix.js';
import {Table} from './table.js';

const section = (id, title, ...children) => el('section', {class: 'card', id}, el('h2', {}, title), ...children);

/** Redraws a part of the page whenever the filter changes. */
function live(filters, make) {
  const node = el('div', {}, make());
  filters.onChange(() => node.replaceChildren(make()));
  return node;
}

const nearly = (a, b) => Math.abs(a - b) < 0.005 || Number.isNaN(a) || Number.isNaN(b);

/** The columns that a report shows, and what is to be said of those that would show nothing new. */
function chooseColumns(run, report) {
  const set = run.means;
  const values = (metric) => set.metric(metric.number);
  const mean = run.metricNamed('latency_mean');
  const left = {zero: [], mean: [], same: []};
  const kept = report.columns.map((column) => ({...column, metric: run.metricNamed(column.metric)})).filter((column) => {
    const {metric, rank} = column;
    if (!metric || rank === 0) return Boolean(metric); // asked for, or what matters most
    const first = values(metric).find((v) => !Number.isNaN(v));
    if (isZero(set, metric)) left.zero.push(column.title);
    else if (mean && metric.name.startsWith('latency_') && values(metric).every((v, i) => nearly(v, values(mean)[i]))) left.mean.push(column.title);
    else if (!column.each && set.count > 1 && values(metric).every((v) => v === first || Number.isNaN(v))) left.same.push(`${column.title} ${metricText(first, metric.unit)}`);
    else return true;
    return false;
  });
  const said = [['all 0', left.zero], ['equal to t_avg', left.mean], ['everywhere the same', left.same]]
    .filter(([, titles]) => titles.length > 0).map(([why, titles]) => `${why}: ${titles.join(', ')}`);
  return {kept, said};
}

function pointsTable(run, filters, view, id, report) {
  const set = run.means;
  const {kept, said} = chooseColumns(run, report);
  const columns = [...axisColumns(run, set), ...kept.map((c) => metricColumn(run, set, c.metric, c.title, c.each))];
  // A file has intervals and failures in columns of their own.
  const csvColumns = () => [...columns.flatMap((c) => (c.halfWidth && run.means !== run.points ? [c, halfWidthColumn(c)] : [c])),
    ...(kept.some((c) => isOfTransfers(c.metric)) ? failureColumns(set) : [])];
  const table = new Table(run.experiment, columns, () => filters.indices(set), {remark: remarkOf(run, set), csvColumns, filters, view, id: `${id}.sort`});
  const hints = [kept.some((c) => c.each) && '/op: for each transfer, both nodes together',
    said.length > 0 && `left out, ${said.join('; ')}`].filter(Boolean);
  return [table.node, hints.length > 0 ? el('p', {class: 'hint'}, `${hints.join('; ')}.`) : null];
}

function stepsTable(run, filters, view, id) {
  const set = run.means;
  const {names, first, step, mean, samples} = run.steps;
  const rows = () => Array.from(filters.indices(set)).flatMap((i) => {
    const total = mean.subarray(first[i], first[i + 1]).reduce((a, b) => a + b, 0);
    return Array.from({length: first[i + 1] - first[i]}, (_, k) => ({i, row: first[i] + k, total}));
  });
  const number = (title, unit, value, text, meaning) => ({title, unit, meaning, number: true, value, text});
  const share = ({row, total}) => 100 * mean[row] / total;
  const table = new Table(`${run.experiment} steps`, [
    wordColumn('point', ({i}) => labelOf(run, set, i)),
    wordColumn('step', ({row}) => names[step[row]].step),
    wordColumn('where', ({row}) => names[step[row]].where),
    number('time', 'us', ({row}) => mean[row], ({row}) => mean[row].toFixed(3), 'mean over the transfers'),
    number('share', '%', share, (r) => share(r).toFixed(1), 'of the whole time'),
    number('samples', '1', ({row}) => samples[row], ({row}) => String(samples[row])),
    wordColumn('what happens', ({row}) => names[step[row]].meaning),
  ], rows, {filters, view, id: `${id}.steps`});
  return el('details', {}, el('summary', {}, 'The steps as a table'), table.node);
}

function reportSection(run, filters, view, report, number) {
  const id = `report-${number + 1}`;
  const name = `${run.experiment} ${number + 1}`;
  if (report.view === 'verdict') {
    return section(id, `What the device met: ${report.rows} by ${report.columns}${report.only ? `, ${shown(report.only)}` : ''}`,
      live(filters, () => verdictTable(run, filters, report)));
  }
  if (report.view === 'breakdown') {
    return section(id, 'Where the time goes', new Explorer(run, filters, view, id, name, {kind: 'breakdown'}).node,
      stepsTable(run, filters, view, id));
  }
  if (report.view === 'matrix') {
    const metric = run.metricNamed(report.metric);
    const title = metric ? withUnit(metric.name, metric.unit) : report.metric;
    return section(id, `${title}${report.baseline ? `, beside ${report.baseline}` : ''}`,
      new Explorer(run, filters, view, id, name, {metric, x: report.rows, series: report.columns, baseline: report.baseline}).node,
      live(filters, () => matrixTables(run, filters, report)));
  }
  const columns = report.columns.map((column) => run.metricNamed(column.metric)).filter(Boolean);
  const first = columns.find((m) => m.name === 'latency_mean') || columns.find((m) => m.name !== 'transfers') || columns[0];
  return section(id, 'By point', new Explorer(run, filters, view, id, name, {metrics: columns.length > 0 ? columns : undefined, metric: first}).node,
    ...pointsTable(run, filters, view, id, report));
}

export const reportSections = (run, filters, view) => run.reports.map((report, number) => reportSection(run, filters, view, report, number));

/** What no report shows yet: a map over two axes of numbers, or the goodput. */
export function explorerSection(run, filters, view) {
  const numeric = run.axes.filter((axis) => axis.numbers && axis.leads && axis.values.length > 1 && axis.values.length <= 60);
  const asked = run.reports.map((report) => report.metric);
  const metric = run.metrics.find((m) => m.name === 'goodput' && !asked.includes(m.name));
  const start = numeric.length > 1 ? {kind: 'heat', x: numeric[0].name, series: numeric[1].name} : {metric};
  return section('explorer', 'Explore', el('p', {class: 'hint'}, 'Any metric over any axis. The filter above chooses the points.'),
    new Explorer(run, filters, view, 'explorer', `${run.experiment} explorer`, start).node);
}
