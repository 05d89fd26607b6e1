// SPDX-License-Identifier: Apache-2.0
// What limits the transfers, in sentences over all points, and how busy each node was, or what each flow reached.
import {axisColumns, metricColumn, seedColumn, wordColumn} from './columns.js';
import {decode} from './data.js';
import {el} from './dom.js';
import {shown} from './format.js';
import {Table} from './table.js';

const sentences = (run) => el('ul', {}, run.limits.map(({text, points, where}) =>
  el('li', {}, `${text} `, el('small', {}, `${shown(where)}${points > 1 ? `, and ${(points - 1).toLocaleString('en')} more` : ''}`))));

function partsTable(run, filters, view) {
  const {names, abouts, metrics} = run.parts;
  const set = run.points;
  const first = decode(run.parts.first, set.count + 1);
  const count = first[set.count];
  const [part, about] = [decode(run.parts.part, count), decode(run.parts.about, count)];
  // A set of their own, whose points are parts.
  const values = {metric: (m) => values.columns.get(m), halfWidth: () => new Float64Array(count), columns: new Map()};
  const columns = metrics.map((name, k) => {
    const metric = run.metricNamed(name);
    values.columns.set(metric.number, decode(run.parts.values[k], count));
    return {...metricColumn(run, values, metric), small: undefined};
  });
  const ofPoint = (column) => ({...column, text: ({i}) => column.text(i), value: ({i}) => column.value(i)});
  const ofPart = (column) => ({...column, text: ({row}) => column.text(row), value: ({row}) => column.value(row)});
  const rows = () => Array.from(filters.indices(set)).flatMap((i) =>
    Array.from({length: first[i + 1] - first[i]}, (_, k) => ({i, row: first[i] + k})));
  const table = new Table(`${run.experiment} parts`, [...axisColumns(run, set), ...(run.repetitions > 1 ? [seedColumn(set)] : [])].map(ofPoint)
    .concat(wordColumn('part', ({row}) => names[part[row]]), abouts.some((text) => text) ? [wordColumn('what', ({row}) => abouts[about[row]])] : [],
      columns.map(ofPart)), rows, {filters, view, id: 'limits.sort'});
  return table.node;
}

export function limitsSection(run, filters, view) {
  if (run.limits.length === 0) return null;
  const leftOut = run.parts.left_out;
  return el('section', {class: 'card', id: 'limits'}, el('h2', {}, 'What limits the transfers'), sentences(run),
    el('p', {class: 'hint'}, 'Over all points, each seed by itself; the filter does not change these sentences.'),
    el('details', {}, el('summary', {}, 'By node and flow'),
      run.parts.names.length > 0 ? partsTable(run, filters, view) : el('p', {class: 'hint'}, 'No point has parts.'),
      leftOut > 0 ? el('p', {class: 'hint'}, `The parts of ${leftOut.toLocaleString('en')} more points are in results.json; this page has a bound.`) : null));
}
