// SPDX-License-Identifier: Apache-2.0
// node large.mjs REPORT.html: how long the page of a large run takes to load, to filter, to choose, to sort. Fails when a
// step is slower than its bound [ms], which is generous: a loaded machine is no failure.
import {statSync} from 'node:fs';
import {launch, open} from './browser.mjs';

const [report] = process.argv.slice(2);
const browser = await launch();
const failures = [];
function say(what, ms, bound) {
  console.log(`${what}: ${ms.toFixed(0)} ms`);
  if (ms > bound) failures.push(`${what} took ${ms.toFixed(0)} ms; at most ${bound}`);
}
console.log(`file: ${(statSync(report).size / 1e6).toFixed(1)} MB`);
let start = performance.now();
const {page, complaints} = await open(browser, report);
say('open, until the page is ready', performance.now() - start, 60000);
await page.locator('#report-1 .chart').scrollIntoViewIfNeeded();
await page.waitForSelector('#report-1 .chart canvas');
say('open, until the first chart is drawn', performance.now() - start, 60000);
const drawn = Number(await page.locator('#report-1 .chart').getAttribute('data-marks'));
console.log(`marks: ${drawn}`);
if (drawn < 99000) failures.push(`only ${drawn} marks`);

// In the page: from the event until the frame after it has been painted.
const timed = (selector, index, action) => page.evaluate(([sel, at, act]) => new Promise((done) => {
  const node = document.querySelectorAll(sel)[at];
  const begin = performance.now();
  if (act === 'click') node.click();
  else { node.value = act; node.dispatchEvent(new Event('change')); }
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin), 0));
}), [selector, index, action]);

await page.locator('#filters > summary').click();
say('filter: one strategy less', await timed('fieldset[data-axis="strategy"] input', 0, 'click'), 10000);
say('filter: one size less', await timed('fieldset[data-axis="workload.size"] input', 1, 'click'), 10000);
const kept = await page.locator('#filters > summary').innerText();
if (!/60,000 of 100,000/.test(kept)) failures.push(kept);
say('filter: all again', await timed('#filters .filters > button', 0, 'click'), 10000);
const metric = await page.locator('#report-1 label.choice').filter({hasText: 'Metric'}).locator('option').nth(1).getAttribute('value');
say('another metric', await timed('#report-1 label.choice:nth-of-type(2) select', 0, metric), 10000);
say('sort the table', await timed('#report-1 thead button', 5, 'click'), 10000);
const box = await page.locator('#report-1 .chart').boundingBox();
start = performance.now();
for (let k = 0; k < 20; ++k) await page.mouse.move(box.x + 100 + 30 * k, box.y + 100 + 5 * k);
say('20 moves of the pointer over the chart', performance.now() - start, 10000);
const memory = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
console.log(`heap: ${memory.toFixed(0)} MB`);
if (complaints.length > 0) failures.push(...complaints);
await browser.close();
for (const failure of failures) console.log(`FAILED: ${failure}`);
process.exitCode = failures.length > 0 ? 1 : 0;
