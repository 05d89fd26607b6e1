// SPDX-License-Identifier: Apache-2.0
// Time series of points that have them: one chart for each quantity, the chosen points as lines.
import {decode, labelOf} from './data.js';
import {el, select} from './dom.js';
import {Figure} from './figure.js';
import {varying} from './lines.js';
import {shown} from './format.js';
import {timeChart} from './options.js';

const MOST_LINES = 8;
const FLAT = 0.02; // of the highest line, below which another one would lie on the axis

/** Where some line would lie on the axis, all go onto a log scale, if they have no 0. */
function isFlat(lines) {
  const tops = lines.map((line) => line.data.reduce((most, [, v]) => Math.max(most, v), 0));
  return Math.min(...tops) < FLAT * Math.max(...tops) && lines.every((line) => line.data.every(([, v]) => v > 0));
}

export function seriesSection(run, filters, view) {
  const {kinds, of, left_out: leftOut} = run.series;
  if (of.length === 0) return null;
  const set = run.points;
  const seeds = set.named('seed');
  // Of points beside each other what tells them apart.
  const shortLabels = (list) => {
    const indices = list.map((one) => one.point);
    const apart = varying(run, set, indices);
    const skip = run.axes.filter((axis) => !apart.includes(axis)).map((axis) => axis.number);
    const seed = run.repetitions > 1 && new Set(indices.map((i) => seeds[i])).size > 1;
    return (i) => (apart.length > 0 || !seed ? labelOf(run, set, i, skip) : '') + (seed ? `${apart.length > 0 ? ', ' : ''}seed ${seeds[i]}` : '');
  };
  const label = (i) => labelOf(run, set, i) + (run.repetitions > 1 ? `, seed ${seeds[i]}` : '');
  let chosen = 'first';
  const shownPoints = (kind) => {
    const visible = new Set(filters.indices(set));
    const list = of.filter((one) => one.kind === kind && visible.has(one.point));
    return chosen === 'first' ? list.slice(0, MOST_LINES) : list.filter((one) => one.point === Number(chosen));
  };
  const figures = kinds.map((kind, k) => new Figure(`${run.experiment} ${kind.name} over time`, (c, width) => {
    const list = shownPoints(k);
    if (list.length === 0) return {empty: `No point that is shown has a time series of ${kind.name}.`};
    const name = shortLabels(list);
    const lines = list.map((one, n) => {
      one.decoded ??= decode(one.values, one.count);
      return {name: name(one.point), colour: chosen === 'first' ? n : of.filter((other) => other.kind === k && other.point < one.point).length, data: Array.from(one.decoded, (v, at) => [at * one.interval, v])};
    });
    const log = isFlat(lines);
    return {...timeChart(c, lines, kind, log, width), title: `${kind.name} over time`, note: shown(kind.meaning)};
  }));
  const redraw = () => figures.forEach((figure) => figure.redraw());
  const controls = el('div', {class: 'controls'});
  const draw = () => {
    const visible = new Set(filters.indices(set));
    const points = [...new Set(of.map((one) => one.point))].filter((i) => visible.has(i));
    if (chosen !== 'first' && !points.includes(Number(chosen))) chosen = 'first';
    controls.replaceChildren(select('Points', [['first', `the first ${Math.min(MOST_LINES, points.length)} that the filter leaves`],
      ...points.slice(0, 500).map((i) => [i, label(i)])], chosen, (value) => { chosen = value; redraw(); view.changed('series'); }));
  };
  // A point by its number in the run: its label may be long.
  view.add('series', () => (chosen === 'first' ? [] : [['', String(chosen)]]), (pairs) => {
    const wanted = pairs.map(([, value]) => value).find((value) => of.some((one) => String(one.point) === value));
    chosen = wanted ?? 'first';
    draw();
    redraw();
  });
  filters.onChange(() => { draw(); redraw(); });
  draw();
  return el('section', {class: 'card', id: 'series'}, el('h2', {}, 'Over time'), controls,
    el('div', {class: 'panels'}, figures.map((figure, k) => el('div', {}, el('h3', {}, kinds[k].name), figure.node))),
    leftOut > 0 ? el('p', {class: 'hint'}, `${leftOut.toLocaleString('en')} more series are in results.json; this page has a bound.`) : null);
}
