// SPDX-License-Identifier: Apache-2.0
// node address.mjs REPORT.html: what the reader chooses is in the page's address, and comes back from there. The run is the first
// one of tests/scripts/report.sh.
import assert from 'node:assert/strict';
import {pathToFileURL} from 'node:url';
import {launch, open} from './browser.mjs';
import {choose, chosen, runTests, settle, show} from './reader.mjs';

const [report] = process.argv.slice(2);
const browser = await launch();
const {page, complaints} = await open(browser, report, {colorScheme: 'light'});
const hash = (of = page) => of.evaluate(() => window.location.hash);
const filterText = (of) => of.locator('#filters > summary').innerText();
const box = (of, axis, value) => of.locator(`fieldset[data-axis="${axis}"] label`).filter({hasText: value}).locator('input');
const marks = (of, section) => of.locator(`${section} .chart`).first().getAttribute('data-marks').then(Number);
const theme = (of) => of.evaluate(() => document.documentElement.dataset.theme);
const firstRows = (of) => of.locator('#report-1 tbody tr').evaluateAll((rows) => rows.map((row) => row.innerText));

/** The page anew, as who is sent the address sees it. */
async function sent(fragment) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, colorScheme: 'light'});
  await context.setOffline(true);
  const other = await context.newPage();
  other.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  other.on('console', (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  await other.goto(pathToFileURL(report).href + fragment);
  await other.waitForSelector('html[data-ready]');
  await settle(other);
  return other;
}

/** What of the view can be seen. */
async function seen(of) {
  const state = {filter: await filterText(of), theme: await theme(of), rows: await firstRows(of)};
  for (const section of ['#report-1', '#report-2', '#explorer']) {
    await show(of, `${section} .chart`);
    state[section] = {marks: await marks(of, section), controls: await of.locator(`${section} .controls select`).evaluateAll((lists) => lists.map((list) => list.value)),
      boxes: await of.locator(`${section} .controls input`).evaluateAll((list) => list.map((input) => input.checked)),
      words: await of.locator(`${section} .chart svg`).first().evaluate((svg) => [...svg.querySelectorAll('text')].map((node) => node.textContent))};
  }
  return state;
}

let everything = '';
let begun = null;
const tests = {
  async 'a page that nobody has touched has no fragment'() {
    begun = await seen(page);
    assert.equal(await hash(), '');
  },
  async 'each choice is in the address'() {
    await page.locator('#filters > summary').click();
    await box(page, 'workload.size', '64 B').uncheck();
    assert.equal(await hash(), '#show.workload.size=-64+B');
    await page.locator('#filters > summary').click();
    await choose(page, '#report-2', 'Metric', {label: 'goodput'});
    assert.match(await hash(), /report-2\.metric=goodput/);
    assert.match(await hash(), /at=report-2/);
    await choose(page, '#report-1', 'os.rlimit_memlock', {label: '1 GiB'});
    assert.match(await hash(), /report-1\.at\.os\.rlimit_memlock=1\+GiB/);
    await choose(page, '#report-1', 'Relative to', {label: 'pin-once'});
    await page.locator('#report-1 label.check', {hasText: 'log x'}).locator('input').setChecked(false);
    assert.match(await hash(), /report-1\.beside=pin-once/);
    assert.match(await hash(), /report-1\.logx=no/);
    await choose(page, '#explorer', 'Chart', 'bars');
    await choose(page, '#explorer', 'x axis', {label: 'strategy'});
    await choose(page, '#explorer', 'One line', {label: 'workload.size'});
    await page.locator('#report-1 thead button', {hasText: 't_avg'}).click();
    await page.locator('#report-1 thead button', {hasText: 't_avg'}).click();
    assert.match(await hash(), /report-1\.sort=-t_avg/);
    await choose(page, '#series', 'Points', {index: 2});
    assert.match(await hash(), /series=\d+/);
    await page.locator('#theme label', {hasText: 'Dark'}).click();
    assert.match(await hash(), /theme=dark/);
    everything = await hash();
  },
  async 'the address shows the same to somebody else'() {
    const other = await sent(everything);
    assert.equal(await theme(other), 'dark');
    assert.match(await filterText(other), /16 of 24 points/);
    assert.equal(await chosen(other, '#explorer', 'x axis'), 'strategy');
    assert.deepEqual(await seen(other), await seen(page));
    assert.equal(await hash(other), everything);
    await other.context().close();
  },
  async 'the section where something was chosen is in view'() {
    const other = await sent('#report-2.metric=goodput&at=report-2');
    await other.waitForTimeout(200);
    const {top} = await other.locator('#report-2').evaluate((node) => ({top: node.getBoundingClientRect().top}));
    assert.ok(top >= 0 && top < 300, `report-2 is at ${top}`);
    await other.context().close();
  },
  async 'the order of the table of all points is sent, too'() {
    const other = await sent('');
    await show(other, '#points > summary');
    await other.locator('#points > summary').click();
    await other.locator('#points thead button', {hasText: 'goodput'}).click();
    const rows = (of) => of.locator('#points tbody tr').evaluateAll((list) => list.map((row) => row.innerText));
    const sorted = await rows(other);
    assert.match(await hash(other), /points\.sort=goodput/);
    const third = await sent(await hash(other));
    assert.deepEqual(await rows(third), sorted);
    assert.equal(sorted.length, 24);
    await third.evaluate(() => { window.location.hash = ''; });
    await settle(third);
    assert.notDeepEqual(await rows(third), sorted);
    await third.context().close();
    await other.context().close();
  },
  async 'back and forward go through what was chosen'() {
    const other = await sent('');
    const states = [await seen(other)];
    await choose(other, '#report-2', 'Metric', {label: 'goodput'});
    states.push(await seen(other));
    await other.locator('#filters > summary').click();
    await box(other, 'strategy', 'pin-once').uncheck();
    await other.locator('#filters > summary').click();
    states.push(await seen(other));
    for (const expected of [states[1], states[0]]) {
      await other.goBack();
      await settle(other);
      assert.deepEqual(await seen(other), expected);
    }
    assert.equal(await hash(other), '');
    await other.goForward();
    await other.goForward();
    await settle(other);
    assert.deepEqual(await seen(other), states[2]);
    await other.evaluate(() => { window.location.hash = '#report-2.metric=faults'; });
    await settle(other);
    assert.equal(await chosen(other, '#report-2', 'Metric'), 'faults');
    assert.match(await filterText(other), /24 of 24/);
    await other.context().close();
  },
  async 'a line that the legend switches off stays off'() {
    const other = await sent('#report-2.off=pin-once');
    await show(other, '#report-2 .chart');
    const lines = () => other.locator('#report-2 .chart svg').first().evaluate((svg) => [...svg.querySelectorAll('path')]
      .filter((path) => path.getAttribute('stroke-width') === '2' && path.getAttribute('fill') === 'none' && path.getBBox().width > 300).length);
    const off = await lines();
    await other.evaluate(() => { window.location.hash = ''; });
    await settle(other);
    assert.ok(await lines() > off && off > 0);
    await other.context().close();
  },
  async 'a fragment that is wrong shows the page as it begins'() {
    for (const fragment of ['#nonsense', '#%', '#%E0%A4%A=1&show.strategy=%', '#show.strategy=nobody&report-1.metric=none&report-1.x=y', '#report-1.sort=-&theme=pink&series=99999&at=nowhere',
      '#at=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&report-9.chart=lines', '#show.workload.size=~1~x&show.os.rlimit_memlock=~&report-2.chart=heat2&report-2.at.workload.size=1+PiB',
      '#__proto__.x=1&constructor=2&report-2.off=nobody', `#${'a'.repeat(20000)}=1`, '#=&=&&==']) {
      const other = await sent(fragment);
      assert.deepEqual(await seen(other), begun, fragment);
      await other.context().close();
    }
  },
  async 'a link to a section leads there'() {
    const other = await sent('');
    await choose(other, '#report-2', 'Metric', {label: 'goodput'});
    await other.locator('.failures a').click();
    await settle(other);
    assert.equal(await chosen(other, '#report-2', 'Metric'), 'goodput');
    const {top} = await other.locator('#remarks').evaluate((node) => ({top: node.getBoundingClientRect().top}));
    assert.ok(top >= -5 && top < 900, `remarks at ${top}`);
    await other.context().close();
  },
  async 'all is reset by what resets it'() {
    await page.evaluate(() => { window.location.hash = '#at=report-1'; });
    await settle(page);
    assert.deepEqual(await seen(page), begun);
  },
};

process.exitCode = await runTests(tests, complaints) > 0 ? 1 : 0;
await browser.close();
