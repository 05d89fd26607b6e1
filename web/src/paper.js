// SPDX-License-Identifier: Apache-2.0
// On paper nothing scrolls: a table that is wider than the page is made smaller, by itself and not with all else.

export const PAPER = 660; // width of what is printed on A4 or letter, in CSS pixels

function fit(table) {
  table.style.width = 'max-content';
  const width = table.offsetWidth;
  table.style.width = '';
  if (width > PAPER) table.style.zoom = String(Math.floor(98 * PAPER / width) / 100);
}

const root = document.documentElement;
const tables = () => document.querySelectorAll('.table table');
window.addEventListener('beforeprint', () => { root.classList.add('paper'); tables().forEach(fit); });
window.addEventListener('afterprint', () => { root.classList.remove('paper'); tables().forEach((table) => { table.style.zoom = ''; }); });
