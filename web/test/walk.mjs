// SPDX-License-Identifier: Apache-2.0
// Walks through the page of a story within the page itself: to compare what it shows at each step.

/** Within the page: what it shows of an instant, and keys. */
export const PAGE = `
  window.shown = () => {
    const texts = (selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent);
    const outlines = [...document.querySelectorAll('.outlines div')].map((node) => node.getAttribute('style'));
    return ['#now', '#state', '#work', '.clock', '.axis b', '.lines [aria-current]'].flatMap(texts).concat(outlines).join('|');
  };
  window.press = (key, more = {}) => window.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, ...more}));`;
/** Goes on and back, at most `most` steps from where it is; what is shown must be the same, and be what a replay says. */
export const walk = (of, most) =>
  of.evaluate((limit) => {
    const {stories} = JSON.parse(document.getElementById('data').textContent);
    const count = () => Number(document.querySelector('.bar .count').textContent.match(/\d+/)[0]);
    const wrong = [];
    const replays = stories.map((story) => ({state: {...story.state}, left: [...(story.changes ?? [])]}));
    const replay = (at) => {
      replays.forEach(({state, left}) => {
        while (left.length > 0 && left[0].at <= at) {
          const change = left.shift();
          state[change.key] = change.to;
        }
      });
      for (const row of document.querySelectorAll('tr[data-key]')) {
        const {state} = replays['AB'.indexOf(row.closest('.end').dataset.story)];
        const value = row.querySelector('td').firstChild.textContent;
        if (value !== state[row.dataset.key]) wrong.push(`${count()}: ${row.dataset.key} is ${value}, not ${state[row.dataset.key]}`);
      }
    };
    // The instants that the clock can mean.
    const times = [
      ...new Set(
        stories.flatMap((story) => [
          story.begin,
          story.end,
          ...(story.told ?? []).map((told) => told.at),
          ...(story.changes ?? []).map((change) => change.at),
        ]),
      ),
    ];
    const atNow = () => {
      const clock = document.querySelector('.clock').textContent;
      return times.filter((time) => {
        const us = (Math.abs(time) / 1e6).toLocaleString('en', {minimumFractionDigits: 3, maximumFractionDigits: 3});
        return `${time < 0 ? '−' : ''}${us} µs` === clock;
      });
    };
    const on = [window.shown()];
    const first = count();
    for (let i = 0; i < limit; ++i) {
      const found = atNow();
      if (found.length === 1) replay(found[0]);
      const before = count();
      window.press('ArrowRight');
      if (count() === before) break;
      if (count() !== before + 1) wrong.push(`from ${before} to ${count()}`);
      on.push(window.shown());
    }
    const many = on.length;
    const last = on.pop();
    if (window.shown() !== last) wrong.push('the last one');
    while (on.length > 0) {
      window.press('ArrowLeft');
      if (window.shown() !== on.pop()) wrong.push(`${count()} is not the same on the way back`);
    }
    if (count() !== first) wrong.push(`back at ${count()}, not ${first}`);
    return {many, wrong: wrong.slice(0, 5)};
  }, most);

/** From the end, ten steps back at a time, and on again. */
export const fromEnd = (of) =>
  of.evaluate(() => {
    const list = [];
    window.press('End');
    for (let i = 0; i < 6; ++i) {
      list.push(window.shown());
      window.press('ArrowLeft', {shiftKey: true});
    }
    while (list.length > 0) {
      window.press('ArrowRight', {shiftKey: true});
      if (window.shown() !== list.pop()) return false;
    }
    return true;
  });

/** Where the slider and a sentence lead to is where steps lead to. */
export const jump = (of) =>
  of.evaluate(() => {
    const wrong = [];
    const slider = document.querySelector('.slide input');
    for (const share of [0.2, 0.9, 0.5]) {
      const number = Math.round(share * slider.max);
      slider.value = String(number);
      slider.dispatchEvent(new Event('input'));
      const here = window.shown();
      window.press(number > 0 ? 'ArrowLeft' : 'ArrowRight');
      window.press(number > 0 ? 'ArrowRight' : 'ArrowLeft');
      if (window.shown() !== here) wrong.push(`slider at ${number}`);
      const line = document.querySelector('.lines [aria-current] button');
      if (!line) continue;
      line.click();
      const there = window.shown();
      window.press('Home');
      const first = window.shown();
      line.click();
      if (window.shown() !== there) wrong.push(`sentence ${line.dataset.stop}`);
      window.press('Home');
      if (window.shown() !== first) wrong.push('the beginning');
    }
    return wrong;
  });
