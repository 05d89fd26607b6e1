// SPDX-License-Identifier: Apache-2.0
// Which points are shown: for each axis some of its values. One filter for the whole page.
import {checkbox, el} from './dom.js';
import {withUnit} from './format.js';

const MOST_BOXES = 24; // axes with more values are filtered by a range, or by a part of their names

export class Filters {
  constructor(run, view) {
    Object.assign(this, {run, view});
    this.bounds = new Map(); // by axis with many values: [from, to] or a part of its names, as they were typed
    this.shown = run.axes.map((axis) => new Uint8Array(axis.values.length).fill(1));
    this.listeners = [];
  }
  onChange(listener) { this.listeners.push(listener); }
  changed() {
    this.cache = new Map();
    for (const listener of this.listeners) listener();
    this.view.changed();
  }
  /** For the page's address: of each axis the values that are shown, or those that are not, whichever are fewer. */
  viewed() {
    return this.run.axes.flatMap((axis) => {
      const mask = this.shown[axis.number];
      if (!mask.includes(0)) return [];
      if (this.bounds.has(axis.number)) return [[axis.name, `~${[this.bounds.get(axis.number)].flat().join('~')}`]];
      const those = (value) => axis.values.filter((_, v) => mask[v] === value);
      const [on, off] = [those(1), those(0)];
      return on.length <= off.length && on.length > 0 ? on.map((text) => [axis.name, text]) : off.map((text) => [axis.name, `-${text}`]);
    });
  }
  restore(pairs) {
    for (const mask of this.shown) mask.fill(1);
    this.bounds.clear();
    for (const axis of this.run.axes) this.restoreAxis(axis, pairs.filter(([name]) => name === axis.name).map(([, value]) => value));
    this.draw();
    this.changed();
  }
  restoreAxis(axis, wanted) {
    const mask = this.shown[axis.number];
    if (wanted.length > 0 && wanted[0].startsWith('~')) {
      const words = wanted[0].slice(1).split('~');
      if (axis.values.length <= MOST_BOXES) return;
      if (!axis.numbers) this.contain(axis, words.join('~'));
      else if (words.length === 2 && words.every((word) => word !== '' && Number.isFinite(Number(word)))) this.between(axis, words.map(Number));
      return;
    }
    const on = wanted.filter((text) => axis.values.includes(text));
    if (on.length > 0) axis.values.forEach((text, v) => { mask[v] = on.includes(text) ? 1 : 0; });
    else axis.values.forEach((text, v) => { if (wanted.includes(`-${text}`)) mask[v] = 0; });
  }
  contain(axis, part) {
    axis.values.forEach((text, v) => { this.shown[axis.number][v] = text.includes(part) ? 1 : 0; });
    this.bounds.set(axis.number, part);
  }
  between(axis, ends) {
    axis.numbers.forEach((number, v) => { this.shown[axis.number][v] = number >= ends[0] && number <= ends[1] ? 1 : 0; });
    this.bounds.set(axis.number, ends);
  }
  isShown(axis, value) { return this.shown[axis][value] === 1; }
  get active() { return this.shown.some((mask) => mask.includes(0)); }

  /** Numbers of the points of a set that are shown. */
  indices(set) {
    this.cache ??= new Map();
    if (!this.cache.has(set)) this.cache.set(set, this.compute(set));
    return this.cache.get(set);
  }
  compute(set) {
    const found = new Uint32Array(set.count);
    const tested = this.shown.map((mask, a) => [mask, a]).filter(([mask]) => mask.includes(0))
      .map(([mask, a]) => [mask, set.axis(a)]);
    let n = 0;
    for (let i = 0; i < set.count; ++i) {
      let keep = true;
      for (const [mask, column] of tested) keep = keep && mask[column[i]] === 1;
      if (keep) found[n++] = i;
    }
    return found.subarray(0, n);
  }

  /** The controls. */
  element() {
    const body = el('div', {class: 'filters'});
    const summary = el('summary', {});
    this.draw = () => {
      body.replaceChildren(...this.run.axes.filter((axis) => axis.values.length > 1).map((axis) => this.axis(axis)),
        el('button', {type: 'button', onclick: () => this.restore([])}, 'Show all'));
    };
    const count = () => {
      const {points} = this.run;
      summary.textContent = `Filter: ${this.indices(points).length.toLocaleString('en')} of ${points.count.toLocaleString('en')} points`;
    };
    this.onChange(count);
    count();
    this.draw();
    this.view.add('show', () => this.viewed(), (pairs) => this.restore(pairs));
    return el('details', {class: 'filter-bar', id: 'filters'}, summary, body);
  }
  axis(axis) {
    const few = axis.values.length <= MOST_BOXES;
    const by = few ? this.boxes(axis) : axis.numbers ? this.range(axis) : this.words(axis);
    return el('fieldset', {'data-axis': axis.name},
      el('legend', {title: axis.meaning}, axis.name), by);
  }
  boxes(axis) {
    const mask = this.shown[axis.number];
    const all = (value) => {
      mask.fill(value);
      node.replaceWith(this.boxes(axis));
      this.changed();
    };
    const node = el('div', {class: 'boxes'},
      axis.texts.map((text, v) => checkbox(text, mask[v] === 1, (on) => { mask[v] = on ? 1 : 0; this.changed(); })),
      el('span', {class: 'both'},
        el('button', {type: 'button', 'aria-label': `all values of ${axis.name}`, onclick: () => all(1)}, 'all'),
        el('button', {type: 'button', 'aria-label': `no value of ${axis.name}`, onclick: () => all(0)}, 'none')));
    return node;
  }
  words(axis) {
    const input = el('input', {type: 'search', placeholder: 'a part of its name', value: this.bounds.get(axis.number) ?? '', onchange: () => {
      this.contain(axis, input.value);
      this.changed();
    }});
    return el('label', {class: 'choice'}, el('span', {}, 'contains'), input);
  }
  range(axis) {
    const low = axis.numbers.reduce((a, b) => Math.min(a, b), Infinity);
    const high = axis.numbers.reduce((a, b) => Math.max(a, b), -Infinity);
    const ends = [...(this.bounds.get(axis.number) || [low, high])];
    const update = () => {
      this.between(axis, ends);
      this.changed();
    };
    const field = (end, text) => {
      const input = el('input', {type: 'number', step: 'any', value: String(ends[end]), onchange: () => {
        ends[end] = input.value === '' ? [low, high][end] : Number(input.value);
        update();
      }});
      return el('label', {class: 'choice'}, el('span', {}, withUnit(text, axis.unit)), input);
    };
    return el('div', {class: 'boxes'}, field(0, 'from'), field(1, 'to'));
  }
}
