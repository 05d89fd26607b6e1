// SPDX-License-Identifier: Apache-2.0
// Tables with an axis on either side: a metric, or what the device met.
import {download, el, fileName} from './dom.js';
import {remarkOf} from './columns.js';
import {csvText, metricText, shown} from './format.js';
import {freeAxes} from './lines.js';
import {measured} from './ratios.js';

const MOST_SHEETS = 24;

function grid(name, corner, rows, columns, cell) {
  // What stands below a value has a column of its own in a file.
  const extra = columns.map((_, c) => c).filter((c) => rows.some((_, r) => cell(r, c).kind === 'lost'));
  const csv = () => csvText([[corner, ...columns, ...extra.map((c) => `${columns[c]} failed transfers`)],
    ...rows.map((row, r) => [row, ...columns.map((_, c) => cell(r, c).text), ...extra.map((c) => cell(r, c).small || '')])]);
  return el('div', {class: 'table'}, el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': name}, el('table', {},
    el('thead', {}, el('tr', {}, el('th', {scope: 'col', class: 'plain'}, corner), columns.map((c) => el('th', {scope: 'col', class: 'number plain'}, c)))),
    el('tbody', {}, rows.map((row, r) => el('tr', {}, el('th', {scope: 'row'}, row), columns.map((_, c) => {
      const {text, kind, title, small} = cell(r, c);
      return el('td', {class: `number ${kind || ''}`, title}, text, small ? el('small', {}, small) : null);
    })))))),
  el('div', {class: 'tools'}, el('span', {class: 'count'}), el('button', {type: 'button', class: 'csv',
    onclick: () => download(`${fileName(name)}.csv`, 'text/csv', csv())}, 'CSV')));
}

/** One table for each combination of the axes that are on neither side. */
export function matrixTables(run, filters, report) {
  const set = run.means;
  const indices = filters.indices(set);
  const [rowAxis, columnAxis] = [run.axisNamed(report.rows), run.axisNamed(report.columns)];
  const metric = run.metricNamed(report.metric);
  if (!rowAxis || !columnAxis || indices.length === 0) return el('p', {class: 'hint'}, 'The filter leaves no points.');
  const free = freeAxes(run, set, indices, [rowAxis, columnAxis]);
  const sheets = new Map();
  const place = (axis, i) => set.axis(axis.number)[i];
  const [rowsThere, columnsThere] = [new Set(), new Set()];
  for (const i of indices) {
    const sheet = free.map((axis) => (axis.number === 0 ? '' : `${axis.name} = `) + axis.texts[place(axis, i)]).join(', ');
    if (!sheets.has(sheet)) sheets.set(sheet, new Map());
    sheets.get(sheet).set(`${place(rowAxis, i)},${place(columnAxis, i)}`, i);
    rowsThere.add(place(rowAxis, i));
    columnsThere.add(place(columnAxis, i));
  }
  const ordered = (axis, there) => axis.values.map((_, v) => v).filter((v) => there.has(v));
  const [rows, columns] = [ordered(rowAxis, rowsThere), ordered(columnAxis, columnsThere)];
  const remark = remarkOf(run, set);
  const seen = metric && measured(run, set, metric, report.baseline ? run.axes[0].values.indexOf(report.baseline) : undefined);
  const cellOf = (places) => (r, c) => {
    const i = places.get(`${rows[r]},${columns[c]}`);
    if (i === undefined) return {text: '–'};
    const why = remark(i);
    if (why !== null) return {text: why.split(':')[0], kind: 'bad', title: why};
    if (!metric) return {text: '–'};
    const [value, width] = [seen.values[i], seen.widths[i]];
    const small = Number.isFinite(value) ? seen.lost([i]) : '';
    const ratio = () => (Number.isFinite(value) ? value.toFixed(3) + (width > 0 ? ` ±${width.toFixed(3)}` : '') : '–');
    return {text: report.baseline ? ratio() : metricText(value, metric.unit, width), small, kind: small ? 'lost' : ''};
  };
  const names = [...sheets.keys()];
  return el('div', {},
    names.slice(0, MOST_SHEETS).map((sheet) => [
      sheet ? el('h3', {}, sheet) : null,
      grid(`${run.experiment} ${report.metric} ${sheet}`, rowAxis.name, rows.map((v) => rowAxis.texts[v]),
        columns.map((v) => columnAxis.texts[v]), cellOf(sheets.get(sheet)))]).flat(),
    names.length > MOST_SHEETS ? el('p', {class: 'hint'}, `The first ${MOST_SHEETS} of ${names.length.toLocaleString('en')} tables; filter to see others.`) : null,
    report.baseline ? el('p', {class: 'hint'}, `Values relative to ${report.baseline}'s.`) : null);
}

const KINDS = [[/^(error)|stale|wrong data|failed/, 'bad'], [/^faults/, 'some'], [/^race/, 'few'], [/^refused/, 'refused'], [/^none/, 'none']];

/** What the device met: over all points of a row and a column. */
export function verdictTable(run, filters, report) {
  const {rows, columns, words, delays} = report.verdict;
  const isShown = (name) => {
    const axis = run.axisNamed(name);
    return (text) => !axis || filters.isShown(axis.number, axis.values.indexOf(text));
  };
  const kept = (list, name) => list.map((_, k) => k).filter((k) => isShown(name)(list[k]));
  const [r, c] = [kept(rows, report.rows), kept(columns, report.columns)];
  const textOf = (name) => (text) => {
    const axis = run.axisNamed(name);
    return axis ? axis.texts[axis.values.indexOf(text)] : shown(text);
  };
  return el('div', {class: 'verdict'},
    grid(`${run.experiment} verdict`, report.rows, r.map((k) => textOf(report.rows)(rows[k])), c.map((k) => textOf(report.columns)(columns[k])), (i, j) => {
      const text = words[r[i]][c[j]];
      const kind = KINDS.find(([pattern]) => pattern.test(text));
      const delay = delays[r[i]][c[j]];
      return {text, kind: kind ? kind[1] : '', small: delay === '-' ? null : shown(delay)};
    }),
    el('p', {class: 'hint'}, 'Faults 3/8: faults in 3 of 8 runs. Race: in fewer than half of them, or only where the mechanism was undone. '
      + 'n/a: it cannot happen. Below: the longest delay [µs], and how many transfers were delayed. Filters on other axes do not change these words.'));
}
