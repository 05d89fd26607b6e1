// SPDX-License-Identifier: Apache-2.0
// A table of many rows: sorted by a click on a head, a page at a time, downloaded whole as CSV.
import {download, el, fileName} from './dom.js';
import {csvText, unitText} from './format.js';
import {sectionOf} from './view.js';

const PAGE = 100;
const smallOf = (column, row) => {
  const text = column.small ? column.small(row) : null;
  return text ? el('small', {class: 'lost'}, text) : null;
};

/**
 * Columns: {title, unit, meaning, number (aligned right), text(row), value(row)}; a row is whatever `rows()` lists.
 * `small(row)`: what stands below the text, or null. `remark(row)`: text that stands in place of the columns that have `measured`, or null.
 * `csvColumns()`: those of the file, if they are others. `filters`: with which the rows change. `id`: of its sorting in the page's address.
 */
export class Table {
  constructor(name, columns, rows, {remark = () => null, csvColumns = () => this.columns, filters, view, id} = {}) {
    Object.assign(this, {name, columns, rows, remark, csvColumns, view});
    this.page = 0;
    if (id) view.add(id, () => this.viewed(), (pairs) => this.restore(pairs));
    filters?.onChange(() => { this.page = 0; this.draw(); });
    this.order = null; // [column, 1 or -1]
    this.node = el('div', {class: 'table'});
    this.draw();
  }
  /** For the page's address: "t_avg", or "-t_avg" of a column that falls. */
  viewed() { return this.order === null ? [] : [['', `${this.order[1] < 0 ? '-' : ''}${this.order[0].title}`]]; }
  restore(pairs) {
    const title = pairs.find(([key]) => key === '')?.[1] ?? '';
    const of = (text) => this.columns.find((column) => column.title === text);
    const [column, sign] = of(title) ? [of(title), 1] : [title.startsWith('-') ? of(title.slice(1)) : undefined, -1];
    this.order = column ? [column, sign] : null;
    this.page = 0;
    this.draw();
  }
  sorted() {
    if (this.order === null) return this.rows();
    const rows = Array.from(this.rows());
    const [column, sign] = this.order;
    const values = new Map(rows.map((row) => [row, column.value(row)]));
    const isMissing = (v) => v === null || v === undefined || Number.isNaN(v);
    return rows.sort((a, b) => {
      const [x, y] = [values.get(a), values.get(b)];
      if (isMissing(x) || isMissing(y)) return isMissing(x) - isMissing(y); // at the end either way
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  }
  sortBy(column) {
    const again = this.order && this.order[0] === column;
    if (again && this.order[1] === -1) this.order = null;
    else this.order = [column, again ? -1 : 1];
    this.page = 0;
    this.draw();
    if (this.view) this.view.changed(sectionOf(this.node));
  }
  draw() {
    const rows = this.sorted();
    this.page = Math.min(this.page, Math.max(0, Math.ceil(rows.length / PAGE) - 1));
    const shown = Array.from(rows.slice(this.page * PAGE, (this.page + 1) * PAGE));
    this.node.replaceChildren(
      el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': this.name}, el('table', {},
        el('thead', {}, el('tr', {}, this.columns.map((column) => this.head(column)))),
        el('tbody', {}, shown.map((row) => this.row(row))))),
      this.pager(rows.length));
  }
  head(column) {
    const order = this.order && this.order[0] === column ? this.order[1] : 0;
    return el('th', {scope: 'col', class: column.number ? 'number' : '',
      'aria-sort': order === 1 ? 'ascending' : order === -1 ? 'descending' : 'none'},
    el('button', {type: 'button', title: column.meaning, onclick: () => this.sortBy(column)},
      column.title, el('span', {class: 'unit'}, column.unit && column.unit !== '1' ? ` ${unitText(column.unit)}` : ''),
      order === 1 ? ' ▲' : order === -1 ? ' ▼' : ''));
  }
  row(row) {
    const remark = this.remark(row);
    const cells = [];
    let told = false;
    for (const column of this.columns) {
      if (remark === null || !column.measured) {
        cells.push(el('td', {class: column.number ? 'number' : ''}, column.text(row), smallOf(column, row)));
      } else if (!told) {
        told = true;
        cells.push(el('td', {class: 'bad', colspan: this.columns.filter((c) => c.measured).length}, remark));
      }
    }
    return el('tr', {class: remark === null ? '' : 'failed'}, cells);
  }
  pager(count) {
    const pages = Math.ceil(count / PAGE);
    const turn = (by) => { this.page += by; this.draw(); };
    const from = this.page * PAGE;
    return el('div', {class: 'tools'},
      el('span', {class: 'count'}, count === 0 ? 'no points: the filter leaves none'
        : pages <= 1 ? `${count} row${count === 1 ? '' : 's'}`
          : `rows ${from + 1} to ${Math.min(from + PAGE, count)} of ${count.toLocaleString('en')}`),
      pages > 1 ? el('button', {type: 'button', disabled: this.page === 0, onclick: () => turn(-1)}, 'Previous') : null,
      pages > 1 ? el('button', {type: 'button', disabled: this.page + 1 >= pages, onclick: () => turn(1)}, 'Next') : null,
      el('button', {type: 'button', class: 'csv', onclick: () => download(`${fileName(this.name)}.csv`, 'text/csv', this.csv())},
        'CSV'));
  }
  csv() {
    const columns = this.csvColumns();
    const field = (value) => (typeof value === 'number' && !Number.isFinite(value) ? '' : String(value ?? ''));
    return csvText([columns.map((c) => (c.unit && c.unit !== '1' ? `${c.title} [${c.unit}]` : c.title)),
      ...Array.from(this.sorted(), (row) => columns.map((column) => field(column.value(row))))]);
  }
}
