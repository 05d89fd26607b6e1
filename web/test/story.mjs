// SPDX-License-Identifier: Apache-2.0
// node story.mjs: what the page of a story knows at an instant, against a replay of the changes one by one. Needs no browser.
import assert from 'node:assert/strict';
import {lanesOf, marksOf} from '../src/explain/lanes.js';
import {Document, addressParts, countUpTo, instantText} from '../src/explain/story.js';
import {FIXTURES} from './fixtures.mjs';

assert.deepEqual(
  [-1, 0, 1, 5, 9].map((limit) => countUpTo([0, 1, 1, 5], limit)),
  [0, 1, 3, 4, 4],
);
assert.deepEqual([0, 5568376, -9481899, 1234567890].map(instantText), ['0.000 µs', '5.568 µs', '−9.482 µs', '1,234.568 µs']);

// As models/smmu/descriptors.hpp has it: 39 bits begin at level 1, 48 at level 0, 42 at level 0 with 3 bits.
const brief = (address, bits) => addressParts(address, bits).map(({name, high, low, index}) => `${name} ${high}:${low} ${index}`);
assert.deepEqual(brief(0x40201abcn, 39), ['level 1 38:30 1', 'level 2 29:21 1', 'level 3 20:12 1', 'offset 11:0 2748']);
assert.deepEqual(brief(0xffffa1b22000n, 48), [
  'level 0 47:39 511',
  'level 1 38:30 510',
  'level 2 29:21 269',
  'level 3 20:12 290',
  'offset 11:0 0',
]);
assert.deepEqual(brief(0x3ffffffffffn, 42).slice(0, 2), ['level 0 41:39 7', 'level 1 38:30 511']);
assert.equal(brief(0x1000n, 30)[0], 'level 2 29:21 0');

for (const [name, make] of Object.entries(FIXTURES)) {
  const json = make();
  const document = new Document(JSON.stringify(json));
  const {stops, stories} = document;
  assert.ok(
    stops.every((stop, i) => i === 0 || stop.at >= stops[i - 1].at),
    name,
  );
  assert.equal(
    stops.filter((stop) => stop.story).length,
    json.stories.reduce((sum, story) => sum + story.told.length, 0),
  );
  stories.forEach((story, s) => {
    const state = {...json.stories[s].state};
    const changes = [...json.stories[s].changes];
    const seen = [];
    const sample = Math.ceil(stops.length / 300);
    stops.forEach((stop, i) => {
      const since = [];
      while (changes.length > 0 && changes[0].at <= stop.at) {
        const change = changes.shift();
        assert.equal(state[change.key], change.from, `${name}: ${change.key}`);
        state[change.key] = change.to;
        since.push(change);
      }
      const moment = document.moment(story, i);
      if (stop.nth === 0) assert.deepEqual(moment.changed, since, `${name}, stop ${i}`);
      else assert.deepEqual(moment.changed, document.moment(story, i - 1).changed);
      if (i % sample === 0) {
        assert.deepEqual(moment.values(), state, `${name}, stop ${i}`);
        seen.push(moment.values());
      }
    });
    assert.equal(changes.length, 0);
    for (let i = stops.length - 1; i >= 0; --i) if (i % sample === 0) assert.deepEqual(document.moment(story, i).values(), seen.pop());
  });
  stops.forEach((stop, i) => assert.equal(document.stopAt(stop.at, stop.nth), i, `${name}, stop ${i}`));
  assert.equal(document.stopAt(document.begin - 1), 0);
  assert.equal(document.stopAt(document.end + 1), stops.length - 1);
  const faults = stops.flatMap((stop, i) => (stop.fault ? [i] : []));
  const found = [];
  for (let at = document.nextFault(-1); at >= 0; at = document.nextFault(at)) found.push(at);
  assert.deepEqual(found, faults);
  // Nothing is lost where marks are put together, and a drawing has a bounded number of them.
  const whole = {from: document.begin, to: document.end};
  for (const lane of lanesOf(stories)) {
    lane.events.forEach((events, s) => {
      const marks = marksOf(events, whole, 800);
      assert.equal(
        marks.reduce((sum, mark) => sum + mark.events.length, 0),
        events.length,
        `${name}: ${lane.name}`,
      );
      assert.ok(marks.length <= 3 * 800, `${name}: ${lane.name} has ${marks.length} marks`);
      for (const event of events) assert.ok(event.row < lane.rows[s]);
    });
  }
}
assert.throws(() => new Document('{"format": "other"}'), /have format other/);
console.log('ok: the state of a story at each instant');
