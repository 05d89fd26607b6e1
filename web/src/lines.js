// SPDX-License-Identifier: Apache-2.0
// Points as lines over an axis: one for each combination of the axes that are not on the chart.
import {lookOf} from './data.js';
import {MOST_DASHES} from './looks.js';

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

/** The axes that `shown` ones say nothing of. Those that others stand for do not count unless points would collide. */
export function freeAxes(run, set, indices, shown) {
  const axes = varying(run, set, indices);
  const strictly = axes.filter((axis) => !shown.includes(axis));
  const loosely = strictly.filter((axis) => axis.leads && !shown.some((s) => standsFor(s, axis)));
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

/** The points that have one chosen value on each axis of `at` (number of the axis to number of the value), as far as any has. */
export function pointsAt(set, indices, at) {
  let left = indices;
  for (const [axis, value] of at) {
    const column = set.axis(axis);
    const some = left.filter((i) => column[i] === value);
    if (some.length > 0) left = some;
  }
  return left;
}

/**
 * Values to choose on axes that are not on the chart, so that there are not more lines than `most`, as far as that goes; none
 * where there are more than `points`, which are drawn as points. `along`: axes that a line goes along; `apart`: the others on the chart;
 * `never`: axes that keep all values.
 */
export function chooseValues(run, set, indices, along, apart, most, points = Infinity, never = []) {
  const at = new Map();
  const free = freeAxes(run, set, indices, [...along, ...apart]);
  const lines = (left) => {
    const columns = [...apart, ...free].map((axis) => set.axis(axis.number));
    return new Set(Array.from(left, (i) => columns.map((column) => column[i]).join())).size;
  };
  let left = indices;
  if (lines(left) > points) return at;
  for (const axis of free.filter((one) => !never.includes(one)).sort((a, b) => b.values.length - a.values.length)) {
    if (lines(left) <= most) break;
    const column = set.axis(axis.number);
    at.set(axis.number, left.reduce((least, i) => Math.min(least, column[i]), Infinity));
    left = pointsAt(set, left, new Map([[axis.number, at.get(axis.number)]]));
  }
  return at;
}

/**
 * {lines: [{name, colour, variant, points: [x, y, half width, i]}...], free, unmeasured, variants: their names}; x is the axis's number or the
 * place of its value. `colour`: look of the series axis's value, without series which combination of free axes; `variant`: that, where
 * there is a series: dashes tell it. Null when there would be more than `most` lines, or more of a colour than there are dashes.
 */
export function makeLines(run, set, indices, {x, series, metric, values, widths}, most) {
  const free = freeAxes(run, set, indices, [x, series].filter(Boolean));
  const freeColumns = free.map((axis) => set.axis(axis.number));
  const place = xOf(x, set.axis(x.number));
  const seriesColumn = series ? set.axis(series.number) : null;
  const lines = new Map();
  const variants = new Map();
  let unmeasured = 0;
  // Lines of one colour have one name and so one entry in the legend; dashes tell which is which.
  const freeName = (i) => free.map((axis, k) => (axis.number === 0 ? '' : `${axis.name} = `) + axis.texts[freeColumns[k][i]]).join(', ');
  const nameOf = (i) => (series ? series.texts[seriesColumn[i]] : freeName(i) || metric.name);
  const names = [];
  const alone = !series && free.length === 0; // one strategy has its own look, too
  for (const i of indices) {
    if (!Number.isFinite(values[i])) { ++unmeasured; continue; }
    const variantKey = freeColumns.map((column) => column[i]).join(',');
    const key = `${seriesColumn ? seriesColumn[i] : 0};${variantKey}`;
    if (!lines.has(key)) {
      if (lines.size === most) return null;
      if (!variants.has(variantKey)) {
        if (series && variants.size === MOST_DASHES) return null;
        names.push(freeName(i));
        variants.set(variantKey, variants.size);
      }
      const variant = variants.get(variantKey);
      lines.set(key, {name: nameOf(i), points: [], place: seriesColumn ? seriesColumn[i] : variant,
        colour: seriesColumn ? lookOf(series, seriesColumn[i]) : alone ? lookOf(run.axes[0], set.axis(0)[i]) : variant, variant: seriesColumn ? variant : 0});
    }
    lines.get(key).points.push([place(i), values[i], widths[i], i]);
  }
  const list = [...lines.values()].sort((a, b) => a.place - b.place || a.variant - b.variant);
  for (const line of list) line.points.sort((a, b) => a[0] - b[0]);
  return {lines: list, free, unmeasured, variants: series ? names : []};
}

const NEARLY = 0.005;
/** Names of lines that lie on each other all along, so that the last one is seen. */
export function coincident(lines) {
  const same = (a, b) => a.variant === b.variant && a.points.length === b.points.length
    && a.points.every(([x, y], k) => x === b.points[k][0] && Math.abs(y - b.points[k][1]) <= NEARLY * Math.abs(y));
  const groups = [];
  for (const line of lines) {
    const group = groups.find(([first]) => same(first, line));
    if (group) group.push(line);
    else groups.push([line]);
  }
  return groups.filter((group) => group.length > 1).map((group) => group.map((line) => line.name).join(', '));
}

/** The same points without lines: {groups: [{name, colour, points: Float64Array of x, y, x, y..., who: their i}...], ...}. */
export function makeCloud(set, indices, {x, series, metric, values}, keep) {
  const place = xOf(x, set.axis(x.number));
  const seriesColumn = series ? set.axis(series.number) : null;
  const members = (series ? series.values : [metric.name]).map(() => []);
  let unmeasured = 0;
  let dropped = 0;
  for (const i of indices) {
    if (!Number.isFinite(values[i])) ++unmeasured;
    else if (!keep(place(i), values[i])) ++dropped;
    else members[seriesColumn ? seriesColumn[i] : 0].push(i);
  }
  const groups = members.map((who, value) => {
    const points = new Float64Array(2 * who.length);
    who.forEach((i, k) => { points[2 * k] = place(i); points[2 * k + 1] = values[i]; });
    return {name: series ? series.texts[value] : metric.name, colour: series ? lookOf(series, value) : 0, points, who};
  }).filter((group) => group.who.length > 0);
  return {groups, unmeasured, dropped};
}
