// SPDX-License-Identifier: Apache-2.0
// node choices.mjs REPORT.html FOLDER: what the charts of a sweep with many axes begin with, and how strategies are drawn.
// The run is the second one of tests/scripts/report.sh.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {launch, open} from './browser.mjs';

const [report, folder] = process.argv.slice(2);
const browser = await launch();
const {page, complaints} = await open(browser, report, {colorScheme: 'light'});

const choice = (section, label) => page.locator(`${section} label.choice`).filter({has: page.locator('span', {hasText: label})}).first()
  .locator('select');
const chosen = (section, label) => choice(section, label).locator('option:checked').innerText();
const marks = (section) => page.locator(`${section} .chart`).first().getAttribute('data-marks').then(Number);
const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const show = async (selector) => { await page.locator(selector).first().scrollIntoViewIfNeeded(); await settle(); };
const words = (section) => page.locator(`${section} .chart svg`).first().evaluate((svg) =>
  [...svg.querySelectorAll('text')].map((node) => node.textContent));
/** "colour dashes" of each line. */
const inks = (section) => page.locator(`${section} .chart svg`).first().evaluate((svg) => [...svg.querySelectorAll('path')]
  .filter((path) => path.getAttribute('stroke-width') === '2' && path.getAttribute('fill') === 'none' && path.getBBox().width > 300)
  .map((path) => `${path.getAttribute('stroke')} ${path.getAttribute('stroke-dasharray') || 'solid'}`));

// Eighteen lines would be too many: one axis has one value, and what is said of it can be changed.
await show('#report-1 .chart');
assert.equal(await chosen('#report-1', 'exanest.block_timeout'), '300 µs');
assert.equal(await chosen('#report-1', 'workload.cold_share'), 'all');
assert.equal(await marks('#report-1'), 12);
assert.match(await page.locator('#report-1 .figure .hint').first().innerText(), /^At exanest.block_timeout = 300 µs; others can be chosen/);
const first = await inks('#report-1');
assert.equal(first.length, 6);
assert.equal(new Set(first).size, 6, first.join('; '));
await page.screenshot({path: join(folder, 'choices.png')});
await choice('#report-1', 'exanest.block_timeout').selectOption({label: 'all'});
await settle();
assert.equal(await marks('#report-1'), 36);
await choice('#report-1', 'exanest.block_timeout').selectOption({label: '3 ms'});
await settle();
assert.equal(await marks('#report-1'), 12);

// A strategy keeps its colour whatever is beside it.
const colours = async () => [...new Set((await inks('#report-1')).map((ink) => ink.split(' ')[0].toLowerCase()))].sort();
assert.deepEqual(await colours(), ['#000000', '#0072b2', '#b0508c']);
await page.locator('#filters > summary').click();
const box = page.locator('fieldset[data-axis="strategy"] label').filter({hasText: 'resident'}).locator('input');
await box.uncheck();
await settle();
await show('#report-1 .chart');
assert.deepEqual(await colours(), ['#0072b2', '#b0508c']);
await page.locator('#filters > summary').click();

// Beside a baseline the chart has the ratios that the table has, also when the baseline is not shown.
await show('#report-2 .chart');
assert.equal(await chosen('#report-2', 'Relative to'), 'resident');
assert.ok((await words('#report-2')).includes('latency_mean relative to resident'));
await box.evaluate((input) => input.click());
await settle();
const cells = await page.locator('#report-2 tbody').first().locator('tr').first().locator('td').allInnerTexts();
assert.equal(cells[1], '1.000');
assert.ok(Number(cells[0]) > 2 && Number(cells[2]) > 1, cells.join());
await choice('#report-2', 'Relative to').selectOption({label: 'nothing'});
await settle();
assert.ok((await words('#report-2')).includes('latency_mean'));

// Axes that advance together are one: neither lines of each other nor a map.
await show('#explorer .chart');
assert.equal(await chosen('#explorer', 'x axis'), 'workload.size (with workload.iterations)');
assert.equal(await chosen('#explorer', 'y axis'), 'workload.cold_share');
assert.ok(!(await page.locator('#explorer label.choice span').allInnerTexts()).includes('workload.iterations'));
assert.equal(await chosen('#explorer', 'strategy'), 'fault/touch-ahead');
assert.equal(await marks('#explorer'), 4);

// Bars of a colour stand beside each other, each over its own words.
await choice('#report-1', 'Chart').selectOption('bars');
await choice('#report-1', 'exanest.block_timeout').selectOption({label: '300 µs'});
await settle();
await show('#report-1 .chart');
const below = await words('#report-1');
for (const word of ['64 B', '4 KiB', '0.5', '1']) assert.ok(below.filter((text) => text === word).length >= 2, `${word}: ${below.join('; ')}`);
assert.match(await page.locator('#report-1 .figure .hint').first().innerText(), /below each workload.size: workload.cold_share/);
assert.equal(await marks('#report-1'), 12);

assert.deepEqual(complaints, []);
await browser.close();
console.log('ok: what charts begin with, colours, ratios');
