// SPDX-License-Identifier: Apache-2.0
// Points as lines over an axis: one for each combination of the axes that are not on the chart.

/** Axes that tell the points at `indices` apart. */
export function varying(run, set, indices) {
  return run.axes.filter((axis) => {
    if (axis.values.length < 2 || indices.length === 0) return false;
    const column = set.axis(axis.number);
    const first = column[indices[0]];
    return indices.some((i) => column[i] !== first);
  });
}

// Axes of one group advance together: one stands for all.
export const standsFor = (axis, other) => axis === other || (axis && axis.number > 0 && axis.group === other.group);

/** The axes that `shown` ones say nothing of. Those that advance with a shown one count unless points would collide. */
export function freeAxes(run, set, indices, shown) {
  const axes = varying(run, set, indices);
  const strictly = axes.filter((axis) => !shown.includes(axis));
  const loosely = strictly.filter((axis) => !shown.some((s) => standsFor(s, axis)));
  return collides(set, indices, [...shown, ...loosely]) ? strictly : loosely;
}

function collides(set, indices, axes) {
  const columns = axes.filter(Boolean).map((axis) => [set.axis(axis.number), axis.values.length]);
  const seen = new Set();
  for (const i of indices) {
    let key = 0;
    for (const [column, count] of columns) key = key * count + column[i];
    if (seen.has(key)) return true;
    seen.add(key);
  }
  return false;
}

const xOf = (x, column) => (x.numbers ? (i) => x.numbers[column[i]] : (i) => column[i]);

/**
 * {lines: [{name, colour, variant, points: [x, y, half width, i]}...], free, unmeasured}; x is the axis's number or the
 * place of its value. `colour`: number of the series axis's value; `variant`: which combination of free axes (the colour, too, without series). Null when
 * there would be more than `most` lines.
 */
export function makeLines(run, set, indices, {x, series, metric}, most) {
  const free = freeAxes(run, set, indices, [x, series].filter(Boolean));
  const freeColumns = free.map((axis) => set.axis(axis.number));
  const place = xOf(x, set.axis(x.number));
  const seriesColumn = series ? set.axis(series.number) : null;
  const values = set.metric(metric.number);
  const widths = set.halfWidth(metric.number);
  const lines = new Map();
  const variants = new Map();
  let unmeasured = 0;
  // Lines of one colour have one name and so one entry in the legend; which is which the pointer tells.
  const nameOf = (i) => (series ? series.values[seriesColumn[i]]
    : free.map((axis, k) => (axis.number === 0 ? '' : `${axis.name} = `) + axis.values[freeColumns[k][i]]).join(', ') || metric.name);
  for (const i of indices) {
    if (!Number.isFinite(values[i])) { ++unmeasured; continue; }
    const variantKey = freeColumns.map((column) => column[i]).join(',');
    const key = `${seriesColumn ? seriesColumn[i] : 0};${variantKey}`;
    if (!lines.has(key)) {
      if (lines.size === most) return null;
      if (!variants.has(variantKey)) variants.set(variantKey, variants.size);
      const variant = variants.get(variantKey);
      lines.set(key, {name: nameOf(i), colour: seriesColumn ? seriesColumn[i] : variant, variant, points: []});
    }
    lines.get(key).points.push([place(i), values[i], widths[i], i]);
  }
  const list = [...lines.values()].sort((a, b) => a.colour - b.colour || a.variant - b.variant);
  for (const line of list) line.points.sort((a, b) => a[0] - b[0]);
  return {lines: list, free, unmeasured};
}

/** The same points without lines: {groups: [{name, colour, points: Float64Array of x, y, x, y..., who: their i}...], ...}. */
export function makeCloud(set, indices, {x, series, metric}, keep) {
  const place = xOf(x, set.axis(x.number));
  const seriesColumn = series ? set.axis(series.number) : null;
  const values = set.metric(metric.number);
  const members = (series ? series.values : [metric.name]).map(() => []);
  let unmeasured = 0;
  let dropped = 0;
  for (const i of indices) {
    if (!Number.isFinite(values[i])) ++unmeasured;
    else if (!keep(place(i), values[i])) ++dropped;
    else members[seriesColumn ? seriesColumn[i] : 0].push(i);
  }
  const groups = members.map((who, colour) => {
    const points = new Float64Array(2 * who.length);
    who.forEach((i, k) => { points[2 * k] = place(i); points[2 * k + 1] = values[i]; });
    return {name: series ? series.values[colour] : metric.name, colour, points, who};
  }).filter((group) => group.who.length > 0);
  return {groups, unmeasured, dropped};
}
