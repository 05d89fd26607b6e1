// SPDX-License-Identifier: Apache-2.0
// Small helpers to build the page with.

/** An element; properties that start with "on" are listeners, the others attributes; children are nodes or text. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'class') node.className = value;
    else if (name === 'value' || name === 'checked' || name === 'disabled') node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** A labelled drop-down list. `options`: [value, text] pairs. */
export function select(label, options, value, changed) {
  const list = el('select', {onchange: () => changed(list.value)},
    options.map(([v, text]) => el('option', {value: v}, text)));
  list.value = value;
  const node = el('label', {class: 'choice'}, el('span', {}, label), list);
  node.list = list;
  return node;
}

export function checkbox(label, checked, changed, title) {
  const box = el('input', {type: 'checkbox', checked, onchange: () => changed(box.checked)});
  return el('label', {class: 'check', title}, box, el('span', {}, label));
}

/** Cells: texts, nodes, or cells of their own; `classOf(row)`: of its line. */
export const plainTable = (heads, rows, classOf = () => '') => el('div', {class: 'scroll'}, el('table', {},
  el('thead', {}, el('tr', {}, heads.map((head) => el('th', {scope: 'col'}, head)))),
  el('tbody', {}, rows.map((cells) => el('tr', {class: classOf(cells)}, cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : el('td', {}, cell))))))));

/** Hands a file to the reader. */
export function download(name, type, content) {
  const url = typeof content === 'string' && content.startsWith('data:')
    ? content : URL.createObjectURL(new Blob([content], {type}));
  const link = el('a', {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  if (url.startsWith('blob:')) setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** A name that may be a file's. */
export const fileName = (text) => text.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-.]+|-+$/g, '').slice(0, 80) || 'figure';
