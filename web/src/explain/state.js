// SPDX-License-Identifier: Apache-2.0
// What pages, TLBs, frames, pins and registers hold at an instant, and the indices of the virtual address.
import {el} from '../dom.js';
import {addressParts, instantText} from './story.js';

const GROUPS = ['page table', 'TLB', 'NIC', 'frame', 'pin', 'register'];
const MOST_TOLD = 6; // changes that are told in words
const MAP_PAGES = 128; // in the map at a time

/** A page's condition in one letter, so that no colour needs to tell it. */
function glyphOf(values, end, page) {
  const of = (name) => values[`${end}/${page}/${name}`];
  if (!String(of("device's access")).startsWith('goes through')) return ['✕', `the device's access ${of("device's access")}`];
  if ((of('micro-TLB') ?? '-') !== '-' || (of('macro TLB') ?? '-') !== '-') return ['T', 'present, and in a TLB'];
  return Number(of('pins')) > 0 ? ['P', 'present, and pinned'] : ['●', 'present'];
}

function addressBox(buffer, place, descriptor) {
  const page = BigInt(buffer.pages[place.page]);
  const address =
    place.address !== undefined && place.address >> 12n === page >> 12n ? place.address : place.page === 0 ? BigInt(buffer.address) : page;
  if (buffer.va_bits === 0)
    return el(
      'p',
      {class: 'hint'},
      `Virtual address 0x${address.toString(16)}`,
      descriptor === undefined ? '.' : '; the SMMU has no context for this process yet.',
    );
  const ends = Number(String(descriptor).match(/at level (\d)/)?.[1] ?? -1);
  const parts = addressParts(address, buffer.va_bits);
  return el(
    'div',
    {class: 'address'},
    el('p', {}, 'virtual address ', el('code', {}, `0x${address.toString(16)}`), `, ${buffer.va_bits} bits`),
    el(
      'ol',
      {},
      parts.map((part) =>
        el(
          'li',
          {class: part.level === ends ? 'ends' : part.level > ends && ends >= 0 ? 'unread' : ''},
          el('small', {}, part.name, part.level === ends ? ' ▲' : ''),
          el('strong', {}, part.level === undefined ? `0x${part.index.toString(16)}` : String(part.index)),
          el('small', {class: 'bits', title: `bits ${part.high} to ${part.low}`}, `[${part.high}:${part.low}]`),
        ),
      ),
    ),
    ends < 0
      ? null
      : el('p', {class: 'walk'}, `▲ A walk of the table ends at level ${ends}${ends < 3 ? ': the levels below are not read' : ''}.`),
  );
}

/** "destination, page 0: entry: no entry → present". */
export function changeText(story, change) {
  const found = story.keys.find((each) => each.key === change.key);
  const what = `${found.end}${found.page === null ? '' : `, page ${found.page}`}: ${found.name}`;
  return `${what}: ${change.from} → ${change.to}${change.text ? ` (${change.text})` : ''}`;
}

/** The state card. `chosen({end, page, story})`: the reader wants that page, or by null the one that changed last. */
export class StateCard {
  constructor(document, chosen) {
    Object.assign(this, {document, chosen, fixed: {}});
    this.told = el('div', {class: 'changed-list'});
    this.ends = el('div', {class: 'ends-grid'});
    this.follow = el('button', {type: 'button', hidden: true, onclick: () => chosen(null)}, 'Follow the page that changes');
    this.node = el(
      'section',
      {class: 'card', id: 'state'},
      el('div', {class: 'card-head'}, el('h2', {}, 'State at this instant'), this.follow),
      this.told,
      this.ends,
      el(
        'p',
        {class: 'hint'},
        "Pages: ✕ the device's access faults · ● present · P pinned · T in a TLB. ◆ marks what has just changed.",
        document.stories.length > 1 ? ' ≠ differs between the stories.' : '',
      ),
    );
    this.node.hidden = document.stories.every((story) => story.keys.length === 0); // a message has no buffers
  }
  /** `moments`: of each story the one that is to be shown. */
  show(moments) {
    const {stories} = this.document;
    this.follow.hidden = Object.keys(this.fixed).length === 0;
    const changes = moments.flatMap(({changed}, s) => changed.map((change) => ({change, story: stories[s]})));
    this.told.replaceChildren(
      changes.length === 0
        ? el('p', {class: 'hint'}, 'Nothing that is watched has changed since the instant before.')
        : el(
            'ul',
            {},
            changes
              .slice(0, MOST_TOLD)
              .map(({change, story}) =>
                el('li', {}, '◆ ', stories.length > 1 ? el('b', {class: 'letter'}, story.letter) : null, changeText(story, change)),
              ),
            changes.length > MOST_TOLD ? el('li', {}, `and ${changes.length - MOST_TOLD} more`) : null,
          ),
    );
    const others = stories.map((story, s) => ({story, count: moments[s].count}));
    this.ends.replaceChildren(
      ...stories.flatMap((story, s) =>
        this.buffersOf(story, moments[s]).map((buffer) =>
          this.endBox(
            story,
            buffer,
            moments[s],
            others.filter((other) => other.story !== story),
          ),
        ),
      ),
    );
  }
  /** The ends of a story; where the second one may be out of sight, the one that something happened to last stands first. */
  buffersOf(story, moment) {
    if (!this.latestFirst) return story.buffers;
    return [...story.buffers].sort(
      (a, b) => (story.place(b.end, moment.at).at ?? -Infinity) - (story.place(a.end, moment.at).at ?? -Infinity),
    );
  }
  placeOf(story, buffer, moment) {
    const page = this.fixed[buffer.end];
    if (page !== undefined && page < buffer.pages.length) return {page};
    const found = story.place(buffer.end, moment.at);
    return found.page < buffer.pages.length ? found : {page: 0};
  }
  endBox(story, buffer, moment, others) {
    const place = this.placeOf(story, buffer, moment);
    const before = new Map(moment.changed.map((change) => [change.key, change]).reverse());
    const keys = [...(story.groups.get(`${buffer.end}/${place.page}`) ?? []), ...(story.groups.get(buffer.end) ?? [])];
    const rows = GROUPS.flatMap((group) =>
      keys
        .filter((key) => key.group === group)
        .map((key, k, all) => {
          const change = before.get(key.key);
          const value = story.value(key.key, moment.count);
          const differs = others.some(({story: other, count}) => other.history.has(key.key) && other.value(key.key, count) !== value);
          return el(
            'tr',
            {class: change ? 'changed' : '', 'data-key': key.key},
            k === 0 ? el('th', {scope: 'rowgroup', rowspan: all.length, class: 'group'}, group) : null,
            el('th', {scope: 'row'}, change ? '◆ ' : '', key.name),
            el(
              'td',
              {},
              value,
              differs ? el('span', {class: 'differs', title: 'The other story has another value at this instant'}, ' ≠') : null,
              change ? el('small', {}, `was ${change.from}`) : null,
            ),
          );
        }),
    );
    const {stories} = this.document;
    return el(
      'div',
      {class: 'end', 'data-story': story.letter, 'data-end': buffer.end},
      el(
        'h3',
        {},
        stories.length > 1 ? el('b', {class: 'letter'}, story.letter) : null,
        `${buffer.end}: node ${buffer.node}, ‘${buffer.process}’`,
        el('small', {}, ` page ${place.page}${buffer.pages.length > 1 ? ` of 0 to ${buffer.pages.length - 1}` : ''}`),
      ),
      addressBox(buffer, place, story.value(`${buffer.end}/${place.page}/descriptor`, moment.count)),
      buffer.pages.length > 1 ? this.pageMap(story, buffer, moment, place) : null,
      el('table', {class: 'state', 'aria-label': `${buffer.end}, page ${place.page}, at ${instantText(moment.at)}`}, el('tbody', {}, rows)),
      el('p', {class: 'hint'}, `The device translates by ${buffer.table}.`),
    );
  }
  pageMap(story, buffer, moment, place) {
    const values = new Proxy({}, {get: (_, key) => story.value(key, moment.count)});
    const changed = new Set(
      moment.changed
        .map((change) => change.key.split('/'))
        .filter(([end, page]) => end === buffer.end && page !== undefined)
        .map(([, page]) => Number(page)),
    );
    const turn = (event) => {
      const next = place.page + {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (!(next >= 0 && next < buffer.pages.length)) return;
      event.preventDefault();
      this.chosen({end: buffer.end, page: next, story});
    };
    const first = place.page - (place.page % MAP_PAGES);
    const last = Math.min(first + MAP_PAGES, buffer.pages.length) - 1;
    const further = (page, text) =>
      page in buffer.pages
        ? el(
            'button',
            {type: 'button', class: 'further', 'data-page': page, onclick: () => this.chosen({end: buffer.end, page, story})},
            text,
          )
        : null;
    return el(
      'div',
      {class: 'page-map', role: 'group', 'aria-label': `Pages of the ${buffer.end}; up and down choose another one`, onkeydown: turn},
      further(first - 1, `… ${first - 1}`),
      buffer.pages.slice(first, last + 1).map((_, i) => {
        const page = first + i;
        const [glyph, meaning] = glyphOf(values, buffer.end, page);
        return el(
          'button',
          {
            type: 'button',
            class: changed.has(page) ? 'changed' : '',
            tabindex: page === place.page ? 0 : -1,
            'aria-pressed': String(page === place.page),
            'data-page': page,
            'aria-label': `page ${page}: ${meaning}${changed.has(page) ? ', just changed' : ''}`,
            title: `page ${page}: ${meaning}`,
            onclick: () => this.chosen({end: buffer.end, page, story}),
          },
          glyph,
        );
      }),
      further(last + 1, `${last + 1} …`),
    );
  }
}
