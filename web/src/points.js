// SPDX-License-Identifier: Apache-2.0
// Every point as it was simulated, and what there is to say of some.
import {axisColumns, metricColumn, remarkOf, seedColumn, wordColumn} from './columns.js';
import {checkbox, el, plainTable} from './dom.js';
import {shown} from './format.js';
import {Table} from './table.js';

const USUAL = ['latency_mean', 'latency_p99', 'goodput', 'faults', 'cpu_time', 'setup_time', 'pinned_bytes_peak'];

export function pointsSection(run, filters, view) {
  const set = run.points;
  const status = set.named('status');
  const metrics = run.metrics.map((metric) => ({metric, column: metricColumn(run, set, metric), shown: USUAL.includes(metric.name)}));
  const busiest = wordColumn('busiest', (i) => run.limits[set.named('limit')[i]]?.part ?? '', 'the part that is busy for 90 % of the time or more, if there is one');
  const fixed = [...axisColumns(run, set), seedColumn(set), wordColumn('status', (i) => run.statuses[status[i]]), ...(run.limits.length > 0 ? [busiest] : [])];
  const why = {title: 'reason', value: (i) => run.reasons[set.named('reason')[i]]};
  const columns = () => [...fixed, ...metrics.filter((m) => m.shown).map((m) => m.column)];
  let table = null;
  const holder = el('div', {});
  const choose = () => { table.columns = columns(); table.draw(); };
  const make = () => {
    table = new Table(`${run.experiment} points`, columns(), () => filters.indices(set),
      {remark: remarkOf(run, set), view, filters, csvColumns: () => [...fixed, why, ...metrics.map((m) => m.column)]});
    holder.append(el('details', {class: 'columns'}, el('summary', {}, 'Columns'), el('div', {class: 'boxes'},
      metrics.map((m) => checkbox(m.metric.name, m.shown, (on) => { m.shown = on; choose(); }, m.metric.meaning)))), table.node);
  };
  const node = el('details', {class: 'card', id: 'points', ontoggle: () => { if (node.open && table === null) make(); }},
    el('summary', {}, el('h2', {}, `All ${set.count.toLocaleString('en')} points`)),
    el('p', {class: 'hint'}, 'Each seed by itself. The CSV has every metric of the points that the filter leaves.'), holder);
  // The table is made when it is first asked for: by the reader, or by the page's address.
  view.add('points', () => (table === null ? [] : table.viewed().map(([, title]) => ['sort', title])), (pairs) => {
    const sort = pairs.filter(([key]) => key === 'sort').map(([, title]) => ['', title]);
    if (sort.length > 0) node.open = true;
    if (sort.length > 0 && table === null) make();
    if (table !== null) table.restore(sort);
  });
  return node;
}

export function remarksSection(run) {
  if (run.remarks.length === 0) return null;
  const failed = run.remarks.filter((remark) => remark.kind !== 'note').length;
  const rows = run.remarks.map(({kind, text, points, where}) => [kind, shown(text), el('td', {class: 'number'}, points.toLocaleString('en')), shown(where)]);
  return el('details', {class: 'card', id: 'remarks', open: failed > 0},
    el('summary', {}, el('h2', {}, failed > 0 ? 'Failures and notes' : 'Notes')),
    plainTable(['kind', 'what', 'points', 'first at'], rows, ([kind]) => (kind === 'note' ? '' : 'failed')));
}
