// SPDX-License-Identifier: Apache-2.0
// Which lanes there are, and what of their events a drawing of some width can show. Needs no browser.

const MOST_ROWS = 3; // of a lane, for events that overlap
const SMALL = 3; // pixels; neighbours that are smaller are one mark

/** The lanes of all stories, each once: [{node, router, name, events: of each story}]. */
export function lanesOf(stories) {
  const lanes = [];
  const known = new Map();
  for (const story of stories) {
    let after = -1;
    for (const {node, router, name} of story.lanes) {
      const key = `${node} ${name}`;
      if (!known.has(key)) {
        const lane = {node, router: Boolean(router), name, events: stories.map(() => [])};
        known.set(key, lane);
        lanes.splice(after + 1, 0, lane);
      }
      after = lanes.indexOf(known.get(key));
    }
  }
  stories.forEach((story, s) => {
    for (const event of story.events) {
      const {node, name} = story.lanes[event.lane];
      known.get(`${node} ${name}`).events[s].push(event);
    }
  });
  for (const lane of lanes) lane.rows = lane.events.map(pack);
  return lanes;
}

// Gives each event a row in which nothing overlaps it, as far as there are rows; gives how many are used.
function pack(events) {
  const free = [];
  for (const event of events) {
    let row = free.findIndex((time) => time <= event.from);
    if (row < 0) row = Math.min(free.length, MOST_ROWS - 1);
    event.row = row;
    free[row] = Math.max(free[row] ?? -Infinity, event.to);
  }
  return Math.max(1, free.length);
}

/** Events of a lane's story as marks: {x0, x1, row, events}, between `window`'s ends; x in pixels from 0 to `width`. */
export function marksOf(events, window, width) {
  const scale = width / Math.max(1, window.to - window.from);
  const marks = [];
  const last = [];
  for (const event of events) {
    if (event.to < window.from || event.from > window.to) continue;
    const x0 = Math.max(0, (event.from - window.from) * scale);
    const x1 = Math.min(width, (event.to - window.from) * scale);
    const before = last[event.row];
    if (x1 - x0 < SMALL && before && before.small && x0 - before.x1 < 1) {
      before.x1 = Math.max(before.x1, x1);
      before.events.push(event);
      before.main ||= event.main;
      continue;
    }
    last[event.row] = {x0, x1, row: event.row, events: [event], main: event.main, small: x1 - x0 < SMALL};
    marks.push(last[event.row]);
  }
  return marks;
}
