// SPDX-License-Identifier: Apache-2.0
// What workloads/story/story.cpp wrote, and everything that the page knows at an instant. All of it is a function of the
// instant's number alone: it is the same from whichever side one comes. Needs no browser.

const PS_OF_US = 1e6;
export const us = (ps) => ps / PS_OF_US;

/** How many of a sorted list's values are at most `limit`. */
export function countUpTo(sorted, limit) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** "+1,234.567 µs": an instant, to the nanosecond as the terminal has it. */
export const instantText = (ps) =>
  `${ps < 0 ? '−' : ''}${(Math.abs(ps) / PS_OF_US).toLocaleString('en', {minimumFractionDigits: 3, maximumFractionDigits: 3})} µs`;

// "PAGE FAULT of the device. The SMMU may not let a write at 0x7f0000001040, page 1 of the destination, through: ..."
const FAULT_PLACE = / at (0x[0-9a-f]+), page (\d+) of the (source|destination)/;

/** One story of the document. `letter` tells it from the other one. */
export class Story {
  constructor(json, letter) {
    Object.assign(this, json, {letter});
    for (const list of ['told', 'changes', 'events', 'keys', 'lanes', 'buffers', 'totals']) this[list] = json[list] ?? [];
    this.state = json.state ?? {};
    this.changes = [...this.changes].sort((a, b) => a.at - b.at);
    this.changeTimes = this.changes.map((change) => change.at);
    this.history = new Map(this.keys.map(({key}) => [key, []])); // of each key the places of its changes
    this.changes.forEach((change, place) => this.history.get(change.key)?.push(place));
    this.groups = new Map(); // "destination/3" and "destination" to their keys
    for (const key of this.keys) {
      const name = key.page === null ? key.end : `${key.end}/${key.page}`;
      this.groups.set(name, [...(this.groups.get(name) ?? []), key]);
    }
    const keyOf = new Map(this.keys.map((key) => [key.key, key]));
    const places = this.changes.map(({at, key}) => ({at, ...keyOf.get(key)})).filter(({page}) => page !== null && page !== undefined);
    this.told.forEach((told) => {
      const found = told.fault && told.text.match(FAULT_PLACE);
      if (found) places.push({at: told.at, end: found[3], page: Number(found[2]), address: BigInt(found[1])});
    });
    places.sort((a, b) => a.at - b.at);
    this.places = Object.fromEntries(
      this.buffers.map(({end}) => {
        const list = places.filter((place) => place.end === end);
        return [end, {list, times: list.map((place) => place.at)}];
      }),
    );
  }
  /** What a node is: an end's, or both ends'. */
  endsAt(node) {
    if (this.buffers.length > 0) return this.buffers.filter((buffer) => buffer.node === node).map((buffer) => buffer.end);
    return [...(node === this.initiator ? ['sender'] : []), ...(node === this.target ? ['receiver'] : [])];
  }
  changesUpTo(at) {
    return countUpTo(this.changeTimes, at);
  }
  /** The value of a key after the first `count` changes. */
  value(key, count) {
    const places = this.history.get(key);
    const n = places ? countUpTo(places, count - 1) : 0;
    return n === 0 ? this.state[key] : this.changes[places[n - 1]].to;
  }
  /** {page, address} at an end that changed, or was faulted on, last; the first page where none did. */
  place(end, at) {
    const {list, times} = this.places[end];
    return list[countUpTo(times, at) - 1] ?? {page: 0};
  }
  /** Events under way at an instant, or of that instant. */
  atWork(at) {
    return this.events.filter(({from, to, kind}) =>
      from === to ? from === at : kind === 'step' ? from < at && at <= to : from <= at && (at < to || (to === this.end && at === to)),
    );
  }
}

/** The document: its stories on one axis of time, and the instants at which one can stop. */
export class Document {
  constructor(text) {
    const json = JSON.parse(text);
    if (json.format !== 'faultline-explain-1')
      throw new Error(`the page's data have format ${json.format}, and its program reads faultline-explain-1`);
    Object.assign(this, json);
    this.terms = json.terms ?? {};
    this.parameters = json.parameters ?? {};
    this.stories = json.stories.map((story, i) => new Story(story, 'AB'[i]));
    this.begin = Math.min(...this.stories.map((story) => story.begin));
    this.end = Math.max(...this.stories.map((story) => story.end));
    this.stops = this.makeStops();
    this.times = this.stops.map((stop) => stop.at);
    this.seen = this.stories.map((story) => {
      // of each stop the sentence that was told last
      let last = -1;
      return this.stops.map((stop) => {
        if (stop.story === story) last = stop.told;
        return last;
      });
    });
  }
  // One for each sentence, and for each time at which something changed that no sentence is of.
  makeStops() {
    const stops = this.stories.flatMap((story) => story.told.map((told, place) => ({at: told.at, story, told: place, fault: told.fault})));
    const times = new Set(stops.map((stop) => stop.at));
    const quiet = new Set([this.begin, this.end, ...this.stories.flatMap((story) => story.changeTimes)]);
    for (const at of quiet) if (!times.has(at)) stops.push({at, story: null, told: -1, fault: false});
    stops.sort((a, b) => a.at - b.at || (a.story && b.story ? a.story.letter.localeCompare(b.story.letter) || a.told - b.told : 0));
    stops.forEach((stop, i) => {
      const same = i > 0 && stops[i - 1].at === stop.at;
      stop.nth = same ? stops[i - 1].nth + 1 : 0;
      stop.before = same ? stops[i - 1].before : i > 0 ? stops[i - 1].at : -Infinity;
    });
    return stops;
  }
  /** The last stop at or before a time; of several at that time the nth, or the last. */
  stopAt(at, nth = Infinity) {
    const last = countUpTo(this.times, at) - 1;
    if (last < 0) return 0;
    return this.times[last] === at ? Math.min(last, last - this.stops[last].nth + nth) : last;
  }
  nextFault(number) {
    return this.stops.findIndex((stop, i) => i > number && stop.fault);
  }
  /** All that is shown of a story at a stop. */
  moment(story, number) {
    const stop = this.stops[number];
    const count = story.changesUpTo(stop.at);
    return {
      at: stop.at,
      count,
      told: story.told[this.seen[this.stories.indexOf(story)][number]],
      changed: story.changes.slice(story.changesUpTo(stop.before), count),
      values: () => Object.fromEntries(story.keys.map(({key}) => [key, story.value(key, count)])),
    };
  }
}

/** Of an address the indices that a walk of the 4 KiB granule takes: [{name, bits, index}...], the offset last. */
export function addressParts(address, vaBits) {
  const part = (name, high, low) => ({name, high, low, index: Number((address >> BigInt(low)) & ((1n << BigInt(high - low + 1)) - 1n))});
  const parts = [];
  for (let level = 4 - Math.floor((vaBits - 12 + 8) / 9); level <= 3; ++level) {
    const low = 12 + 9 * (3 - level);
    parts.push({...part(`level ${level}`, Math.min(low + 8, vaBits - 1), low), level});
  }
  return [...parts, part('offset', 11, 0)];
}
