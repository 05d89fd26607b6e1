// SPDX-License-Identifier: Apache-2.0
// node explain.mjs FOLDER [PAGE.html...]: goes through pages of `faultline explain --html` as a reader does: those given, and
// those made of fixtures.mjs, which are put into FOLDER, as are screenshots.
import assert from 'node:assert/strict';
import {readFileSync, statSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {partsOf} from '../pages.mjs';
import {launch, open} from './browser.mjs';
import {FIXTURES} from './fixtures.mjs';
import {dataOf, runTests, settle} from './reader.mjs';
import {PAGE, fromEnd, jump, walk} from './walk.mjs';

const [folder, ...given] = process.argv.slice(2);
const WIDE = {viewport: {width: 1440, height: 900}, colorScheme: 'light'};

/** The page of a document, as src/results/html_report.cpp makes it. */
const parts = partsOf('explain');
function pageOf(name, document) {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, parts[0] + document.title + parts[1] + JSON.stringify(document).replaceAll('<', '\\u003c') + parts[2]);
  return file;
}
const fixtures = Object.fromEntries(Object.entries(FIXTURES).map(([name, make]) => [name, pageOf(`made-up-${name}`, make())]));

const browser = await launch();
let shared = null; // a tab for all that needs no other screen: opening one takes longer than most tests
async function page(file, options = WIDE, fragment = '') {
  let of = options === WIDE ? shared : null;
  if (!of) {
    const made = await open(browser, file, options);
    of = made.page;
    of.setDefaultTimeout(8000);
    of.complaints = made.complaints;
    if (options === WIDE) shared = of;
    if (!fragment) return of;
  }
  await of.goto('about:blank');
  await of.goto(pathToFileURL(file).href + fragment);
  await of.waitForSelector('html[data-ready]');
  return of;
}
async function close(of) {
  assert.deepEqual(of.complaints, []);
  if (of !== shared) await of.context().close();
}
const text = (of, selector) => of.locator(selector).first().innerText();
const steps = async (of) =>
  (await of.locator('.bar .count').textContent())
    .match(/step (\d+) of (\d+)/)
    .slice(1)
    .map(Number);
const hidden = (of) => of.locator('#tip').evaluate((tip) => tip.hidden);

const tests = {};
// To go through all takes half a minute: each time those that the program has written, nightly the others, too.
const every = process.env.FAULTLINE_STORIES === 'all' || given.length === 0;
for (const file of [...(every ? Object.values(fixtures) : []), ...given]) {
  tests[`${basename(file)}: every step is the same from both sides, and what a replay of the changes says`] = async () => {
    const of = await page(file);
    await of.evaluate(PAGE);
    const [, all] = await steps(of);
    assert.equal((await steps(of))[0], 1);
    const most = statSync(file).size > 2e6 ? 20 : 300;
    const {many, wrong} = await walk(of, most);
    assert.deepEqual(wrong, []);
    assert.equal(many, Math.min(all, most + 1));
    if (all > most + 1) assert.ok(await fromEnd(of));
    await of.keyboard.press('End'); // the sentence that is told is in sight in the list
    for (let i = 0; i < 6; ++i) await of.keyboard.press('ArrowLeft');
    await of.waitForFunction(() => {
      const [box, line] = ['.lines', '.lines .current'].map((one) => document.querySelector(one)?.getBoundingClientRect());
      return !line || (line.top >= box.top - 1 && line.bottom <= box.bottom + 1);
    });
    await of.keyboard.press('Home');
    assert.deepEqual(await jump(of), []);
    await close(of);
  };
}

const main = await page(given[0] ?? fixtures.one, {...WIDE});
await main.evaluate(PAGE);
const data = await dataOf(main);
Object.assign(tests, {
  async 'next fault, ends, ten steps and slider'() {
    await main.keyboard.press('Home');
    await main.keyboard.press('f');
    const fault = data.stories[0].told.find((told) => told.fault);
    assert.match(await text(main, '#now'), /page fault/);
    assert.ok((await text(main, '#now')).replace(/\s+/g, ' ').includes(fault.text));
    assert.match(await text(main, '.lines .current'), /PAGE FAULT/);
    const [here, all] = await steps(main);
    await main.keyboard.press('ArrowRight');
    await main.keyboard.press('Shift+F');
    assert.equal((await steps(main))[0], here);
    await main.keyboard.press('Shift+ArrowRight');
    assert.equal((await steps(main))[0], Math.min(all, here + 10));
    await main.keyboard.press('End');
    assert.equal((await steps(main))[0], all);
    await main.locator('[name=fault]').click();
    assert.match(await text(main, '.bar .count'), /no fault after this/);
    await main.locator('[name=first]').click();
    assert.equal((await steps(main))[0], 1);
    await main.locator('.slide input').focus();
    await main.keyboard.press('ArrowRight');
    assert.equal((await steps(main))[0], 2);
    await main.locator('.slide input').fill('4');
    assert.equal((await steps(main))[0], 5);
    assert.match(await main.locator('.slide input').getAttribute('aria-valuetext'), /µs: /);
  },
  async 'it plays, faster and slower, and pauses'() {
    await main.keyboard.press('Home');
    assert.equal(await text(main, '.speed'), '1×');
    for (let i = 0; i < 6; ++i) await main.keyboard.press('+');
    assert.equal(await text(main, '.speed'), '16×');
    await main.keyboard.press(' ');
    assert.match(await text(main, '[name=play]'), /pause/);
    await main.waitForFunction(() => Number(document.querySelector('.slide input').value) >= 2);
    await main.keyboard.press(' ');
    assert.match(await text(main, '[name=play]'), /play/);
    const [here] = await steps(main);
    await main.waitForTimeout(400);
    assert.equal((await steps(main))[0], here);
    for (let i = 0; i < 4; ++i) await main.keyboard.press('-');
    assert.equal(await text(main, '.speed'), '1×');
    await main.keyboard.press('?');
    assert.ok(await main.locator('dialog.help').isVisible());
    await main.keyboard.press('Escape');
    assert.ok(!(await main.locator('dialog.help').isVisible()));
  },
  async 'a cost tells value, meaning and source under the pointer and by the focus; a term its meaning'() {
    await main.keyboard.press('Home');
    await main.keyboard.press('ArrowRight');
    const costs = data.stories[0].told[1].cost;
    assert.equal(await main.locator('#now .cost').count(), costs.length);
    const known = data.parameters[costs[0]];
    const expected = [costs[0], known.description, known.source];
    await main.locator('#now .cost').first().hover();
    for (const words of expected) assert.ok((await text(main, '#tip')).includes(words), words);
    await main.mouse.move(700, 5);
    assert.ok(await hidden(main));
    await main.locator('#now .term').first().focus();
    assert.equal(await main.locator('#now .term').first().getAttribute('aria-describedby'), 'tip');
    const term = await text(main, '#tip strong');
    assert.ok((await text(main, '#tip')).includes(data.terms[term]));
    while (!(await main.evaluate(() => document.activeElement.classList.contains('cost')))) await main.keyboard.press('Tab');
    for (const words of expected) assert.ok((await text(main, '#tip')).includes(words), words);
    await main.screenshot({path: join(folder, 'tip.png')});
    await main.keyboard.press('Escape');
    assert.ok(await hidden(main));
    const outline = await main.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid');
  },
  async 'lanes tell what a bar is, and a click on it goes there'() {
    await main.keyboard.press('f');
    const marks = await main.locator('#lanes .chart svg path').count();
    assert.ok(marks > 20, `${marks} marks`);
    await main.keyboard.press('Home'); // the first lane, the program's, is in sight
    const box = await main.locator('.lanes-box').boundingBox();
    const [x, y] = [box.x + 0.6 * box.width, box.y + 62];
    await main.mouse.move(x, y);
    await main.locator('#tip').waitFor(); // the chart tells the pointer's place in its next frame
    assert.match(await text(main, '#tip'), /^wait\s+node 0, program/);
    await main.mouse.click(x, y);
    assert.match(await text(main, '#now'), /The library writes the descriptor/); // where the wait begins
    const whole = await main.locator('.axis').innerText();
    await main.keyboard.press('z');
    await settle(main);
    assert.notEqual(await main.locator('.axis').innerText(), whole);
    await main.keyboard.press('End'); // what is drawn moves along
    await settle(main);
    assert.ok(await main.locator('.now-line').isVisible());
    await main.keyboard.press('w');
    await main.keyboard.press('Home');
    const drawn = await main.locator('.lanes-box .frame').boundingBox();
    const visible = await main.locator('.lanes-box').boundingBox();
    await main.mouse.move(drawn.x + 0.5 * drawn.width, visible.y + 60);
    await main.mouse.down();
    await main.mouse.move(drawn.x + 0.7 * drawn.width, visible.y + 80, {steps: 4});
    await main.mouse.up();
    await main.waitForFunction(() => /zoom=/.test(window.location.hash));
    await main.locator('[name=whole]').click();
    await main.waitForFunction(() => !/zoom=/.test(window.location.hash));
    const [file] = await Promise.all([main.waitForEvent('download'), main.locator('#lanes button', {hasText: 'SVG'}).click()]);
    const svg = readFileSync(await file.path(), 'utf8');
    assert.ok(svg.startsWith('<svg') && svg.includes('>program<') && svg.includes(data.title));
  },
  async 'what has changed is marked by more than a colour, and the address is split'() {
    await main.keyboard.press('f');
    const changed = main.locator('tr.changed');
    assert.ok((await changed.count()) > 0);
    assert.match(await changed.first().innerText(), /◆ .*was /s);
    assert.match(await text(main, '.changed-list'), /→/);
    const indices = await main.locator('.end').last().locator('.address strong').allInnerTexts();
    const {va_bits: bits, address} = data.stories[0].buffers[1];
    assert.equal(indices.length, 5 - (4 - Math.floor((bits - 4) / 9)));
    assert.equal(Number(indices.at(-2)), Number((BigInt(address) >> 12n) & 511n));
  },
  async 'the address of the page says the instant, and who opens it sees the same'() {
    await main.keyboard.press('f');
    await main.keyboard.press('ArrowRight');
    await main.keyboard.press('l');
    await main.waitForFunction(() => /t=.*us.*large=yes/.test(window.location.hash));
    const hash = await main.evaluate(() => window.location.hash);
    await settle(main);
    const other = await page(given[0] ?? fixtures.one, WIDE, hash);
    await other.evaluate(PAGE);
    for (const selector of ['#now', '#state', '#work', '.clock'])
      assert.equal(await other.locator(selector).textContent(), await main.locator(selector).textContent());
    assert.ok(await other.evaluate(() => document.documentElement.classList.contains('large')));
    await other.evaluate(() => {
      window.location.hash = '#t=1000000000us&zoom=x&page.source=77&what=else';
    }); // beyond the end, and what is not there
    await other.waitForFunction(() => /^step (\d+) of \1$/.test(document.querySelector('.bar .count').textContent));
    await close(other);
    await main.keyboard.press('l');
  },
  async 'pages are chosen, and followed again'() {
    const of = await page(fixtures.pages);
    await of.keyboard.press('f');
    const end = of.locator('.end').last();
    assert.match(await end.locator('h3').innerText(), /page 0 of 0 to 15/);
    assert.equal(await end.locator('.page-map button').filter({hasText: '✕'}).count(), 6);
    await end.locator('[data-page="3"]').click();
    assert.match(await of.locator('.end').last().locator('h3').innerText(), /page 3/);
    await of.keyboard.press('f');
    assert.match(await of.locator('.end').last().locator('h3').innerText(), /page 3/);
    await of.locator('.end').last().locator('[data-page="3"]').focus();
    await of.keyboard.press('ArrowDown');
    await of.keyboard.press('ArrowDown');
    assert.match(await of.locator('.end').last().locator('h3').innerText(), /page 5/);
    assert.equal(await of.evaluate(() => document.activeElement.dataset.page), '5');
    await of.locator('#state button', {hasText: 'Follow'}).click();
    assert.match(await of.locator('.end').last().locator('h3').innerText(), /page 1/);
    await close(of);
  },
  async 'of many pages those around the chosen one are in sight'() {
    const of = await page(fixtures.many);
    await of.keyboard.press('f');
    const map = of.locator('.end').last().locator('.page-map');
    const texts = () => map.locator('.further').allInnerTexts();
    assert.match(await of.locator('.end').last().locator('h3').innerText(), /page 130 of 0 to 139/);
    assert.equal(await map.locator('button:not(.further)').count(), 12);
    assert.deepEqual(await texts(), ['… 127']);
    await map.locator('.further').click();
    assert.match(await of.locator('.end').last().locator('h3').innerText(), /page 127/);
    assert.equal(await map.locator('button:not(.further)').count(), 128);
    assert.deepEqual(await texts(), ['128 …']);
    await of.keyboard.press('ArrowDown');
    assert.deepEqual(await texts(), ['… 127']);
    await close(of);
  },
  async 'two stories lie on one axis, with letters and stripes, and at one instant'() {
    const of = await page(fixtures.compare);
    await of.keyboard.press('f');
    await settle(of);
    assert.equal(await of.locator('#now > *').count(), 2);
    assert.deepEqual(await of.locator('.end').evaluateAll((ends) => ends.map((end) => end.dataset.story)), ['A', 'A', 'B', 'B']);
    assert.ok((await of.locator('#lanes svg pattern').count()) > 0);
    assert.ok((await of.locator('.differs').count()) > 0);
    assert.equal((await of.locator('.totals .striped').count()) > 0, true);
    assert.match(await text(of, '.legend'), /A: fault\/touch-a-page\s*B: pin-once/);
    await of.screenshot({path: join(folder, 'compare.png')});
    await close(of);
  },
  async 'a transfer that failed says why; one without a fault says so'() {
    const failed = await page(fixtures.failed);
    assert.match(await text(failed, '.outcomes'), /FAILED after .*timed out 5 times/);
    await close(failed);
    const warm = await page(fixtures.warm);
    assert.match(await text(warm, '.outcomes'), /met no page fault/);
    assert.ok(await warm.locator('[name=fault]').isDisabled());
    await close(warm);
  },
  async 'thousands of events are drawn and gone through at once'() {
    const of = await page(fixtures.large);
    const {step, zoom} = await of.evaluate(() => {
      const press = (key) => window.dispatchEvent(new KeyboardEvent('keydown', {key}));
      const timed = (action) => {
        const begun = performance.now();
        action();
        return performance.now() - begun + 0 * document.body.offsetHeight;
      };
      press('f');
      return {
        step: Math.min(...Array.from({length: 12}, () => timed(() => press('ArrowRight')))),
        zoom: Math.min(
          timed(() => press('z')),
          timed(() => press('z')),
        ),
      };
    });
    assert.ok(step < 200, `a step takes ${step} ms`);
    assert.ok(zoom < 2000, `zooming takes ${zoom} ms`);
    await close(of);
  },
  async 'light, dark and little motion are as the system has them'() {
    const of = await page(fixtures.one, {...WIDE, colorScheme: 'dark', reducedMotion: 'reduce'});
    const ground = () => of.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    assert.equal(await of.evaluate(() => getComputedStyle(document.querySelector('.now-line')).transitionDuration), '0s');
    await of.locator('#theme label', {hasText: 'Light'}).click();
    assert.notEqual(await ground(), dark);
    await close(of);
  },
  async 'paper has all sentences, the lanes and the totals, and no buttons'() {
    const of = await page(fixtures.pages, {...WIDE, colorScheme: 'dark'});
    await of.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await of.emulateMedia({media: 'print'});
    assert.equal(await of.evaluate(() => document.documentElement.dataset.theme), 'light');
    assert.ok(!(await of.locator('[name=play]').isVisible()) && !(await of.locator('.slide').isVisible()));
    const list = await of.locator('.lines').evaluate((lines) => ({all: lines.scrollHeight, seen: lines.clientHeight}));
    assert.ok(list.all <= list.seen + 1, `${list.seen} of ${list.all} pixels of the story`);
    const lanes = await of.locator('.lanes-box').evaluate((box) => [box.scrollHeight, box.clientHeight]);
    assert.ok(lanes[0] <= lanes[1] + 1, String(lanes));
    assert.ok((await of.locator('#totals').isVisible()) && (await of.locator('#state').isVisible()));
    await of.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    await of.pdf({path: join(folder, 'explained.pdf'), format: 'A4'});
    await close(of);
  },
  async 'a telephone and a projector need no scrolling to the side'() {
    for (const file of [fixtures.compare, fixtures.pages, ...given.slice(0, 1)]) {
      const of = await page(file, {viewport: {width: 360, height: 740}, hasTouch: true});
      await of.locator('[name=fault]').tap();
      await of.evaluate(() => {
        for (const folded of document.querySelectorAll('details')) folded.open = true;
      });
      await settle(of);
      const wide = await of.evaluate(() =>
        [...document.querySelectorAll('body *')]
          .filter((node) => !node.closest('.scroll, .costs, .tip-box') && node.getBoundingClientRect().right > 361)
          .map((node) => `${node.tagName}.${node.className} in ${node.closest('[id]').id}`),
      );
      assert.equal(await of.evaluate(() => document.documentElement.scrollWidth), 360, wide.join('\n'));
      assert.deepEqual(wide, []);
      const small = await of.evaluate(() =>
        [...document.querySelectorAll('.bar button')]
          .filter((node) => node.offsetWidth > 0 && node.offsetHeight < 27)
          .map((node) => node.name),
      );
      assert.deepEqual(small, []);
      await of.screenshot({path: join(folder, `${basename(file)}.phone.png`)});
      const box = await of.locator('.lanes-box').boundingBox();
      const active = await of.locator('.outlines div').evaluateAll((list) => list.map((node) => node.getBoundingClientRect().toJSON()));
      const bar = active.find(({y, height}) => y > box.y + 40 && y + height < Math.min(740, box.y + box.height));
      if (bar) {
        await of.touchscreen.tap(bar.x + bar.width / 2, bar.y + bar.height / 2);
        assert.match(await text(of, '#tip'), /node \d/);
      }
      await of.setViewportSize({width: 1280, height: 720});
      await of.keyboard.press('l');
      await settle(of);
      assert.equal(await of.evaluate(() => document.documentElement.scrollWidth), 1280);
      const size = await of.evaluate(() => Number.parseFloat(getComputedStyle(document.querySelector('#now .what, #now .idle')).fontSize));
      assert.ok(size >= 20, `${size} px`);
      await close(of);
    }
  },
});

const failed = await runTests(tests, main.complaints);
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
