// SPDX-License-Identifier: Apache-2.0
// Every point as it was simulated, and what there is to say of some.
import {axisColumns, metricColumn, remarkOf} from './columns.js';
import {el} from './dom.js';
import {shown} from './format.js';
import {Table} from './table.js';

const USUAL = ['latency_mean', 'latency_p99', 'goodput', 'faults', 'cpu_time', 'setup_time', 'pinned_bytes_peak'];

export function pointsSection(run, filters, view) {
  const set = run.points;
  const status = set.named('status');
  const limit = (i) => run.limits[set.named('limit')[i]]?.part ?? '';
  const metrics = run.metrics.map((metric) => ({metric, column: metricColumn(run, set, metric), shown: USUAL.includes(metric.name)}));
  const fixed = [...axisColumns(run, set),
    {title: 'seed', number: true, text: (i) => String(set.named('seed')[i]), value: (i) => set.named('seed')[i]},
    {title: 'status', text: (i) => run.statuses[status[i]], value: (i) => run.statuses[status[i]]},
    ...(run.limits.length > 0 ? [{title: 'busiest', meaning: 'the part that is busy for 90 % of the time or more, if there is one', text: limit, value: limit}] : [])];
  const why = {title: 'reason', value: (i) => run.reasons[set.named('reason')[i]]};
  const columns = () => [...fixed, ...metrics.filter((m) => m.shown).map((m) => m.column)];
  let table = null;
  const holder = el('div', {});
  const choose = () => { table.columns = columns(); table.draw(); };
  const draw = () => {
    if (table === null) {
      table = new Table(`${run.experiment} points`, columns(), () => filters.indices(set), remarkOf(run, set), view);
      const csv = table.csv.bind(table);
      table.csv = () => {
        table.columns = [...fixed, why, ...metrics.map((m) => m.column)];
        const text = csv();
        table.columns = columns();
        return text;
      };
      holder.append(el('details', {class: 'columns'}, el('summary', {}, 'Columns'), el('div', {class: 'boxes'},
        metrics.map((m) => el('label', {class: 'check', title: m.metric.meaning}, el('input', {type: 'checkbox', checked: m.shown,
          onchange: (event) => { m.shown = event.target.checked; choose(); }}), el('span', {}, m.metric.name))))), table.node);
    } else {
      table.page = 0;
      table.draw();
    }
  };
  const node = el('details', {class: 'card', id: 'points', ontoggle: () => { if (node.open && table === null) draw(); }},
    el('summary', {}, el('h2', {}, `All ${set.count.toLocaleString('en')} points`)),
    el('p', {class: 'hint'}, 'Each seed by itself. The CSV has every metric of the points that the filter leaves.'), holder);
  filters.onChange(() => { if (table !== null) draw(); });
  // The table is made when it is first asked for: by the reader, or by the page's address.
  view.add('points', () => (table === null ? [] : table.viewed().map(([, title]) => ['sort', title])), (pairs) => {
    const sort = pairs.filter(([key]) => key === 'sort').map(([, title]) => ['', title]);
    if (sort.length > 0) node.open = true;
    if (sort.length > 0 && table === null) draw();
    if (table !== null) table.restore(sort);
  });
  return node;
}

export function remarksSection(run) {
  if (run.remarks.length === 0) return null;
  const failed = run.remarks.filter((remark) => remark.kind !== 'note').length;
  const rows = run.remarks.map((remark) => el('tr', {class: remark.kind === 'note' ? '' : 'failed'},
    el('td', {}, remark.kind), el('td', {}, shown(remark.text)), el('td', {class: 'number'}, remark.points.toLocaleString('en')), el('td', {}, shown(remark.where))));
  return el('details', {class: 'card', id: 'remarks', open: failed > 0},
    el('summary', {}, el('h2', {}, failed > 0 ? 'Failures and notes' : 'Notes')),
    el('div', {class: 'scroll'}, el('table', {},
      el('thead', {}, el('tr', {}, ['kind', 'what', 'points', 'first at'].map((head) => el('th', {scope: 'col'}, head)))), el('tbody', {}, rows))));
}
