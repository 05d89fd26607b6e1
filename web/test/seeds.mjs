// SPDX-License-Identifier: Apache-2.0
// node seeds.mjs REPORT.html: means over seeds, of points that draw random numbers and of points that draw none. The run is that of
// tests/scripts/report.sh with three repetitions.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {launch, open} from './browser.mjs';
import {choose, dataOf, marksOf, runTests, settle, show} from './reader.mjs';

const [report] = process.argv.slice(2);
const browser = await launch();
const {page, complaints} = await open(browser, report, {colorScheme: 'light'});
const data = await dataOf(page);

/** Boxes of the upright lines of whiskers, from left to right, on the chart. */
const whiskers = (section) => page.locator(`${section} .chart svg`).first().evaluate((svg) =>
  [...svg.querySelectorAll('path')].filter((path) => path.getAttribute('stroke-width') === '1.2').map((path) => path.getBoundingClientRect())
    .filter((box) => box.height > box.width).map(({x, y, width, height}) => ({x: x + width / 2, y, height})).sort((a, b) => a.x - b.x));
const bars = async (section) => (await marksOf(page, section)).filter((mark) => mark.height > 60 && mark.width > 8 && mark.width < 60)
  .map((mark) => ({...mark, x: mark.x + mark.width / 2})).sort((a, b) => a.x - b.x);
async function checkMiddles(section, count) {
  const [lines, all] = [await whiskers(section), await bars(section)];
  assert.equal(lines.length, count);
  for (const line of lines) assert.ok(all.some((bar) => Math.abs(bar.x - line.x) < 1 && Math.abs(bar.y - line.y) < line.height), JSON.stringify({line, all}));
}

const tests = {
  async 'of points that draw nothing no seed is missing'() {
    await show(page, '#report-1 .chart');
    assert.equal(data.repetitions, 3);
    assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /without a result/);
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('#report-3 button.csv').click()]);
    const lines = readFileSync(await file.path(), 'utf8').trim().split('\n').map((line) => line.split(',').at(-1));
    assert.deepEqual(lines, ['unfinished seeds', ...Array(data.means.count).fill('0')]);
  },
  async 'bars beside each other have whiskers in their middles, which the legend hides with them'() {
    await show(page, '#report-1 .chart');
    await checkMiddles('#report-1', 4);
    const name = page.locator('#report-1 .chart svg text').filter({hasText: /^resident$/}).first();
    await name.click();
    await settle(page);
    await checkMiddles('#report-1', 2);
    await name.click();
    await page.mouse.move(0, 0);
    await settle(page);
    await checkMiddles('#report-1', 4);
  },
  async 'an interval that reaches below 0 ends at the foot of a log axis'() {
    await choose(page, '#report-1', 'Metric', {label: 'queueing_mean'});
    await page.locator('#report-1 label.check', {hasText: 'log y'}).locator('input').setChecked(true);
    await settle(page);
    await show(page, '#report-1 .chart');
    const box = await page.locator('#report-1 .chart').first().boundingBox();
    const inside = ({y, height}) => y > box.y && y + height < box.y + box.height - 20;
    const lines = await whiskers('#report-1');
    assert.equal(lines.length, 4);
    assert.ok(lines.every(inside), JSON.stringify({box, lines}));
    const symbols = (await marksOf(page, '#report-1')).filter((mark) => mark.width > 6 && mark.width < 14 && mark.height < 14 && mark.y > box.y + 40);
    assert.ok(symbols.length >= 4 && symbols.every(inside), JSON.stringify(symbols));
    for (const line of lines) assert.ok(symbols.some((mark) => Math.abs(mark.x + mark.width / 2 - line.x) < 1.5), JSON.stringify(line));
  },
};

process.exitCode = await runTests(tests, complaints) > 0 ? 1 : 0;
await browser.close();
