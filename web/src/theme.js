// SPDX-License-Identifier: Apache-2.0
// Light and dark: as the reader's system is, or as the switch says. Paper is light.
import {COLOURS} from './looks.js';

// Cividis: the same for all colour vision, and rising in brightness.
export const HEAT = ['#00224e', '#2a3f6d', '#575d6d', '#7d7c78', '#a59c74', '#d2c060', '#fee838'];
const INK = {
  light: {text: '#1b1f24', faint: '#57606a', line: '#d0d7de', page: '#ffffff'},
  dark: {text: '#e6edf3', faint: '#9aa7b4', line: '#3a434d', page: '#14181d'},
};

const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let choice = 'auto';
let printing = false;
try {
  choice = localStorage.getItem('faultline-theme') || 'auto';
} catch { /* a page from disk may not be allowed to keep anything */ }

export const isDark = () => !printing && (choice === 'dark' || (choice === 'auto' && system.matches));

export function colours() {
  const name = isDark() ? 'dark' : 'light';
  return {name, series: COLOURS[name], ...INK[name]};
}

function apply() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

/** `lasting`: for the next page, too. */
export function chooseTheme(name, lasting = true) {
  choice = name;
  try {
    if (lasting) localStorage.setItem('faultline-theme', name);
  } catch { /* as above */ }
  apply();
}

export const themeChoice = () => choice;
export const onTheme = (listener) => listeners.push(listener);

system.addEventListener('change', apply);
window.addEventListener('beforeprint', () => { printing = true; apply(); });
window.addEventListener('afterprint', () => { printing = false; apply(); });
apply();
