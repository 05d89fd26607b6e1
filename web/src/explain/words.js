// SPDX-License-Identifier: Apache-2.0
// Sentences whose terms are explained, and costs whose parameters are.
import {el} from '../dom.js';
import {shown} from '../format.js';
import {withTip} from './tip.js';

const MOST_OF_GROUP = 10; // parameters of a group that a tip names; times first
const isTime = (value) => /\d (ps|ns|us|ms|s)$/.test(value);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Makes nodes of texts. `document`: with terms and parameters. */
export class Words {
  constructor(document) {
    this.terms = document.terms;
    this.parameters = document.parameters;
    const names = Object.keys(this.terms).sort((a, b) => b.length - a.length);
    this.byName = new Map(names.map((name) => [name.toLowerCase(), name]));
    this.pattern = names.length > 0 ? new RegExp(`(?<![\\w-])(${names.map(escaped).join('|')})s?(?![\\w-])`, 'gi') : null;
  }
  termOf(name) {
    return withTip(el('dfn', {class: 'term', tabindex: 0}), () => [el('strong', {}, name), el('p', {}, this.terms[name])]);
  }
  /** A sentence as nodes; a term is explained where it stands first. */
  sentence(text) {
    if (!this.pattern) return [text];
    const nodes = [];
    const done = new Set();
    let at = 0;
    for (const found of text.matchAll(this.pattern)) {
      const name = this.byName.get(found[1].toLowerCase());
      if (done.has(name)) continue;
      done.add(name);
      const term = this.termOf(name);
      term.textContent = found[0];
      nodes.push(text.slice(at, found.index), term);
      at = found.index + found[0].length;
    }
    return [...nodes, text.slice(at)];
  }
  /** Of "7 cpu.mmio_write" how often and which; of "axi.*" all that begin so. */
  parametersOf(cost) {
    const [, times, name] = cost.match(/^(?:(.*) )?(\S+)$/) ?? [null, '', cost];
    const names = name.endsWith('*') ? Object.keys(this.parameters).filter((each) => each.startsWith(name.slice(0, -1))) : [name];
    return {times, name, known: names.filter((each) => this.parameters[each]), group: name.endsWith('*')};
  }
  costText(cost) {
    const {times, name, known, group} = this.parametersOf(cost);
    const value = !group && known.length === 1 ? ` = ${shown(this.parameters[name].value)}` : '';
    return `${times ? `${times} × ` : ''}${name}${value}`;
  }
  /** Value, meaning and source of what a cost is made of; of a group names, values and sources. */
  costTip(cost) {
    const {known, group} = this.parametersOf(cost);
    if (known.length === 0) return [el('strong', {}, cost), el('p', {}, 'Nothing more is known of this parameter.')];
    const of = (name) => this.parameters[name];
    if (!group) {
      const [name] = known;
      return [
        el('strong', {}, `${this.costText(cost)}`),
        el('p', {}, of(name).description),
        of(name).source ? el('p', {class: 'source'}, `Source: ${of(name).source}`) : null,
      ].filter(Boolean);
    }
    const sorted = [...known].sort((a, b) => isTime(of(b).value) - isTime(of(a).value));
    const rows = sorted
      .slice(0, MOST_OF_GROUP)
      .map((name) =>
        el(
          'p',
          {class: 'parameter'},
          `${name} = ${shown(of(name).value)}`,
          of(name).source ? el('span', {class: 'source'}, ` ${of(name).source}`) : null,
        ),
      );
    return [
      el('strong', {}, `${cost}: ${known.length} parameter${known.length === 1 ? '' : 's'}`),
      ...rows,
      known.length > rows.length ? el('p', {}, `and ${known.length - rows.length} more; a click shows them all.`) : null,
    ].filter(Boolean);
  }
  /** Costs that can be focused, as a list. */
  costs(list = []) {
    if (list.length === 0) return null;
    return el(
      'ul',
      {class: 'costs', 'aria-label': 'What the time is made of'},
      list.map((cost) =>
        el(
          'li',
          {},
          withTip(
            el(
              'button',
              {type: 'button', class: 'cost', onclick: () => this.showParameter(this.parametersOf(cost).known[0])},
              this.costText(cost),
            ),
            () => this.costTip(cost),
          ),
        ),
      ),
    );
  }
  /** Where all parameters are, unfolded. */
  showParameter(name) {
    const row = document.getElementById(`parameter-${name}`);
    if (!row) return;
    row.closest('details').open = true;
    row.scrollIntoView({block: 'center'});
    row.focus({preventScroll: true});
  }
}
