// SPDX-License-Identifier: Apache-2.0
// What was simulated, folded: parameters that are not at their defaults and who set them, strategies, metrics.
import {el, plainTable} from './dom.js';
import {shown, withUnit} from './format.js';

// On paper nothing can be unfolded.
const forPaper = (details) => {
  let before = false;
  window.addEventListener('beforeprint', () => { before = details.open; details.open = true; });
  window.addEventListener('afterprint', () => { details.open = before; });
  return details;
};
const folded = (id, title, ...children) =>
  el('details', {class: 'card', id}, el('summary', {}, el('h2', {}, title)), ...children);

function axesTable(run) {
  const shown = run.axes.slice(1);
  if (shown.length === 0) return null;
  return [el('h3', {}, 'Axes'), plainTable(['parameter', 'values', 'meaning'], shown.map((axis) => [el('code', {}, axis.name),
    axis.values.length <= 40 ? axis.texts.join(', ')
      : `${axis.texts.slice(0, 3).join(', ')}, … ${axis.texts[axis.texts.length - 1]} (${axis.values.length} values)`,
    axis.meaning]))];
}

export function configurationSection(run) {
  const rows = run.configuration.map((p) => [el('code', {}, p.name), shown(p.value), shown(p.default), p.set_by, shown(p.meaning)]);
  const strategies = run.strategies.map((s) => [s.name, s.description,
    s.settings.map(([key, value]) => el('div', {}, el('code', {}, `${key} = ${shown(value)}`)))]);
  return forPaper(folded('configuration', `Configuration: ${rows.length} parameters differ from the default`,
    rows.length > 0 ? plainTable(['parameter', 'value', 'default', 'set by', 'meaning'], rows) : null,
    ...(axesTable(run) || []),
    el('h3', {}, 'Strategies'), plainTable(['strategy', 'what it does', 'settings'], strategies),
    el('p', {class: 'hint'}, `First seed ${run.seed}, ${run.repetitions} of each combination. The run folder's `,
      el('code', {}, 'effective.toml'), ' has every parameter, and ', el('code', {}, 'faultline run'), ' reads it again.')));
}

export function metricsSection(run) {
  return folded('metrics', 'Metrics: what the columns mean',
    plainTable(['metric', 'meaning'], run.metrics.map((m) => [el('code', {}, withUnit(m.name, m.unit)), shown(m.meaning)])));
}
