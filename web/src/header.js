// SPDX-License-Identifier: Apache-2.0
// The question, what was run to answer it, and how much of it failed.
import {el} from './dom.js';
import {shown} from './format.js';
import {chooseTheme, themeChoice} from './theme.js';

const whole = (n) => n.toLocaleString('en');
const plural = (n, word) => `${whole(n)} ${word}${n === 1 ? '' : 's'}`;

/** Light, dark, or as the system is. */
export function themeSwitch(view) {
  const choices = [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']];
  const node = el('fieldset', {class: 'theme', id: 'theme'}, el('legend', {}, 'Colours'),
    choices.map(([name, text]) => el('label', {},
      el('input', {type: 'radio', name: 'theme', value: name, checked: themeChoice() === name,
        onchange: () => { chooseTheme(name); view.changed(); }}), el('span', {}, text))));
  const begun = themeChoice();
  view.add('theme', () => (themeChoice() === begun ? [] : [['', themeChoice()]]), (pairs) => {
    const wanted = pairs.map(([, name]) => name).find((name) => choices.some(([known]) => known === name)) || begun;
    if (wanted !== themeChoice()) chooseTheme(wanted, false);
    node.querySelector(`input[value="${wanted}"]`).checked = true;
  });
  return node;
}

/** How many points ended in which way, but for those that are complete. */
function failures(run) {
  const counts = new Map();
  const status = run.points.named('status');
  for (let i = 0; i < run.points.count; ++i) {
    const text = run.statuses[status[i]];
    if (text !== 'complete') counts.set(text, (counts.get(text) || 0) + 1);
  }
  return counts;
}

export function header(run, view) {
  const bad = failures(run);
  const missing = run.planned - run.points.count;
  const facts = [
    run.platform && `platform ${run.platform}`,
    plural(run.points.count, 'point'),
    run.repetitions > 1 ? `means over ${plural(run.repetitions, 'seed')}, ± the 95 % confidence interval` : `seed ${run.seed}`,
  ].filter(Boolean);
  return el('header', {},
    el('div', {class: 'top'}, el('span', {class: 'name'}, `Faultline · ${run.experiment}`), themeSwitch(view)),
    el('h1', {}, run.question || run.experiment),
    el('p', {class: 'facts'}, facts.join(' · ')),
    run.findings.length > 0 ? el('ul', {class: 'findings', id: 'findings'}, run.findings.map((text) => el('li', {}, shown(text)))) : null,
    bad.size > 0 ? el('p', {class: 'failures', role: 'note'},
      [...bad].map(([text, n]) => `${plural(n, 'point')} ${text}`).join(', '), '. ',
      el('a', {href: '#remarks'}, 'Why')) : null,
    missing > 0 ? el('p', {class: 'failures', role: 'note'},
      `${whole(missing)} of ${plural(run.planned, 'point')} have not run yet: the same 'faultline run' goes on.`) : null);
}
