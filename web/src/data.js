// SPDX-License-Identifier: Apache-2.0
// Reads what src/results/report_data.cpp wrote: columns are decoded when they are first asked for.
import {labelsOf} from './labels.js';

const NODES = ['workload.target', 'workload.initiator']; // their numbers are names

const TYPES = {u8: Uint8Array, u16: Uint16Array, i32: Int32Array, f32: Float32Array, f64: Float64Array};

/** A typed array of `count` numbers; NaN where there is no value. */
export function decode(column, count) {
  if (column.type === undefined) return new Float64Array(count).fill(column.value === null ? NaN : column.value);
  const text = atob(column.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return new TYPES[column.type](bytes.buffer);
}

/** Points as columns. `axis(a)`: numbers of values on axis a; `metric(m)`, `halfWidth(m)`: values. */
class PointSet {
  constructor(json) {
    this.count = json.count;
    this.json = json;
    this.cache = new Map();
  }
  column(key, encoded) {
    if (!this.cache.has(key)) {
      this.cache.set(key, encoded ? decode(encoded, this.count) : new Float64Array(this.count).fill(NaN));
    }
    return this.cache.get(key);
  }
  axis(a) { return this.column(`axis ${a}`, this.json.axes[a]); }
  metric(m) { return this.column(`metric ${m}`, this.json.metrics[m]); }
  halfWidth(m) {
    return this.column(`width ${m}`, (this.json.half_widths && this.json.half_widths[m]) || {value: 0});
  }
  named(name) { return this.column(name, this.json[name]); }
}

/** "3 of 1000 failed": what is in no latency and no goodput of some points, all their seeds together; "" where nothing is. */
export function failedText(set, points) {
  const [failed, of, missing, seeds] = ['failed', 'transfers', 'unfinished', 'of_seeds']
    .map((name) => points.reduce((sum, i) => sum + set.named(name)[i], 0));
  return [failed > 0 && `${failed.toLocaleString('en')} of ${of.toLocaleString('en')} failed`,
    missing > 0 && missing < seeds && `${missing} of ${seeds} seeds without a result`].filter(Boolean).join(', ');
}
/** Metrics that say nothing of transfers that failed. */
export const isOfTransfers = (metric) => metric.of_completed;

/** The whole run. Throws when the page's data are not of this format. */
export function readRun(text) {
  const run = JSON.parse(text);
  if (run.format !== 1) throw new Error(`the page's data have format ${run.format}, and its program reads 1`);
  run.points = new PointSet(run.points);
  run.means = run.means ? new PointSet(run.means) : run.points;
  const first = run.steps.first;
  run.steps.first = decode(first, run.means.count + 1);
  const rows = run.steps.first[run.means.count] || 0;
  for (const name of ['step', 'mean', 'samples']) run.steps[name] = decode(run.steps[name], rows);
  run.axes.forEach((axis, number) => {
    axis.number = number;
    axis.texts = labelsOf(axis);
    if (NODES.includes(axis.name) || axis.labels) axis.numbers = undefined;
  });
  run.metrics.forEach((metric, number) => { metric.number = number; });
  run.axisNamed = (name) => run.axes.find((axis) => axis.name === name);
  run.metricNamed = (name) => run.metrics.find((metric) => metric.name === name);
  return run;
}

/** Number of the colour and the dashes of an axis's value: a strategy's own, or its place. */
export const lookOf = (axis, value) => (axis.looks ? axis.looks[value] : value);

/** "resident, workload.size = 64 B": what a point is, but for axes that do not tell points apart or are skipped. */
export function labelOf(run, set, i, skip = []) {
  const axes = run.axes.filter((axis) => axis.leads && axis.values.length > 1 && !skip.includes(axis.number));
  const value = (axis) => axis.texts[set.axis(axis.number)[i]];
  if (axes.length === 0) return value(run.axes[0]);
  return axes.map((axis) => (axis.number === 0 ? value(axis) : `${axis.name} = ${value(axis)}`)).join(', ');
}
