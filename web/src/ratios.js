// SPDX-License-Identifier: Apache-2.0
// Metrics beside those of one strategy: divided by what it has at the same place on all other axes.
import {failedText, isOfTransfers} from './data.js';

const partners = new WeakMap(); // of each set: by strategy

/** Of each point the one of the strategy (by number) at its place; -1 where there is none. */
function partnersOf(run, set, strategy) {
  if (!partners.has(set)) partners.set(set, new Map());
  const known = partners.get(set);
  if (known.has(strategy)) return known.get(strategy);
  const columns = run.axes.slice(1).map((axis) => set.axis(axis.number));
  if (set.json.seed) columns.push(set.named('seed'));
  const place = (i) => columns.map((column) => column[i]).join();
  const own = set.axis(0);
  const there = new Map();
  for (let i = 0; i < set.count; ++i) if (own[i] === strategy) there.set(place(i), i);
  const found = Int32Array.from({length: set.count}, (_, i) => there.get(place(i)) ?? -1);
  known.set(strategy, found);
  return found;
}

/**
 * {metric, values, widths, lost(points): "3 of 1000 failed" or ""}: the metric as it is or, beside a strategy, as ratios, with the
 * intervals of both taken to be independent, and with what is lost of both.
 */
export function measured(run, set, metric, strategy) {
  const values = set.metric(metric.number);
  const widths = set.halfWidth(metric.number);
  const lost = (points) => (isOfTransfers(metric) ? failedText(set, points) : '');
  if (strategy === undefined) return {metric, values, widths, lost};
  const base = partnersOf(run, set, strategy);
  const of = (i) => (base[i] >= 0 && values[base[i]] !== 0 ? values[base[i]] : NaN);
  const ratios = Float64Array.from(values, (value, i) => value / of(i));
  return {
    metric: {...metric, name: `${metric.name} relative to ${run.axes[0].values[strategy]}`, unit: '1'},
    values: ratios,
    lost: (points) => lost([...new Set(points.flatMap((i) => (base[i] < 0 ? [i] : [i, base[i]])))]),
    widths: Float64Array.from(widths, (width, i) =>
      (base[i] === i ? 0 : Math.hypot(width, ratios[i] * widths[base[i]]) / Math.abs(of(i)) || 0)),
  };
}
