// SPDX-License-Identifier: Apache-2.0
// Light and dark: as the reader's system is, or as the switch says. Paper is light.

// Okabe and Ito's colours, which people with any colour vision tell apart, darkened or lightened for contrast; in the order
// of python/faultline/figures/style.py, so that a strategy has one colour here and in figures.
const SERIES = {
  light: ['#000000', '#d55e00', '#0072b2', '#007a5a', '#b0508c', '#a06c00', '#2b8cc4', '#757575'],
  dark: ['#ffffff', '#ff9a4d', '#4da3ff', '#2ecc9b', '#e79ac4', '#f0c040', '#9adcff', '#a8a8a8'],
};
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
  return {series: SERIES[name], ...INK[name]};
}

function apply() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function chooseTheme(name) {
  choice = name;
  try {
    localStorage.setItem('faultline-theme', name);
  } catch { /* as above */ }
  apply();
}

export const themeChoice = () => choice;
export const onTheme = (listener) => listeners.push(listener);

system.addEventListener('change', apply);
window.addEventListener('beforeprint', () => { printing = true; apply(); });
window.addEventListener('afterprint', () => { printing = false; apply(); });
apply();
