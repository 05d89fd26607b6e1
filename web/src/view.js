// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, in the page's address behind the #, so that it can be sent: filters, charts, sorting, colours.
// Only what differs from how the page begins is there. What an address names that the run does not have is passed over.

const LONGEST = 6000; // letters of a fragment; browsers and mail programs cut longer ones

/** "a=1&a=2" as [[name, value]...]; of a text that is no list of pairs, such as that of a link to a section, none. */
function pairsOf(fragment) {
  if (!fragment.includes('=')) return [];
  return [...new URLSearchParams(fragment)];
}

export class View {
  /** `history`: how entries are made; `pause`: milliseconds from a choice to its entry, in which further ones join it. */
  constructor({history = 'pushState', pause = 0} = {}) {
    Object.assign(this, {history, pause});
    this.parts = []; // {name, read() gives [[key, value]...], write(pairs)}
    this.written = this.fragment();
    this.ready = false;
    window.addEventListener('popstate', () => this.follow());
    window.addEventListener('hashchange', () => this.follow());
  }
  fragment() { return window.location.hash.replace(/^#/, ''); }
  /** `read` tells what is not as at the beginning, `write` makes it so and all else as at the beginning; keys begin with `name`. */
  add(name, read, write) { this.parts.push({name, read, write}); }
  text() {
    const params = new URLSearchParams();
    for (const {name, read} of this.parts) {
      for (const [key, value] of read()) params.append(key === '' ? name : `${name}.${key}`, value);
    }
    return params.toString().replace(/%2F/g, '/').replace(/%3B/g, ';').replace(/%2C/g, ',');
  }
  /** Something was chosen: of what happens in one go one entry of the history is made. `section` is where. */
  changed(section) {
    if (section) this.section = section;
    if (!this.ready || this.waiting || this.restoring) return;
    this.waiting = true;
    const soon = this.pause > 0 ? (action) => setTimeout(action, this.pause) : queueMicrotask;
    soon(() => {
      this.waiting = false;
      const text = this.text();
      if (text === this.written || text.length > LONGEST) return;
      this.written = text;
      try {
        window.history[this.history](null, '', text ? `#${text}` : window.location.href.replace(/#.*/, ''));
      } catch { /* an address that may not be changed: the page works all the same */ }
    });
  }
  /** Back, forward, or another fragment in the address. */
  follow() {
    const fragment = this.fragment();
    if (fragment === this.written || (fragment !== '' && !fragment.includes('='))) return;
    this.written = fragment;
    this.restore();
  }
  restore() {
    const pairs = pairsOf(this.written);
    this.restoring = true;
    try {
      for (const {name, write} of this.parts) {
        write(pairs.filter(([key]) => key === name || key.startsWith(`${name}.`)).map(([key, value]) => [key.slice(name.length + 1), value]));
      }
    } finally {
      this.restoring = false;
    }
  }
  /** All parts are there: what the address says is shown. */
  start() {
    this.add('at', () => (this.section ? [['', this.section]] : []), (pairs) => {
      this.section = pairs.map(([, value]) => value).find((id) => document.getElementById(id)) || null;
      if (this.section) document.getElementById(this.section).scrollIntoView();
    });
    if (pairsOf(this.written).length > 0) this.restore();
    this.ready = true;
  }
}

/** The section of a node, by its id. */
export const sectionOf = (node) => node.closest('section[id], details[id]')?.id;
