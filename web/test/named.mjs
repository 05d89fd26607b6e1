// SPDX-License-Identifier: Apache-2.0
// node named.mjs REPORT.html: values of an axis are called by their labels in tables, charts and filters. The run is that of
// tests/scripts/report.sh with senders on an axis.
import assert from 'node:assert/strict';
import {launch, open} from './browser.mjs';
import {runTests, settle, show, words as wordsOf} from './reader.mjs';

const [report] = process.argv.slice(2);
const browser = await launch();
const {page, complaints} = await open(browser, report, {colorScheme: 'light'});
const words = (selector) => page.locator(selector).allInnerTexts();

const tests = {
  async 'tables have the labels, as rows and in cells'() {
    assert.deepEqual(await words('#report-2 tbody th'), ['1 sender', '2 senders']);
    assert.deepEqual(await words('#report-3 .verdict tbody th'), ['1 sender', '2 senders']);
    assert.match(await page.locator('#report-1 tbody').innerText(), /2 senders/);
  },
  async 'charts have them at their ticks'() {
    await show(page, '#report-2 .chart');
    const told = await wordsOf(page, '#report-2');
    for (const label of ['1 sender', '2 senders']) assert.ok(told.includes(label), told.join('; '));
  },
  async 'the filter has a box for each'() {
    await page.locator('#filters > summary').click();
    await settle(page);
    const boxes = await words('fieldset[data-axis="workload.flows"] label');
    assert.deepEqual(boxes.map((text) => text.trim()), ['1 sender', '2 senders']);
  },
};
process.exitCode = await runTests(tests, complaints) > 0 ? 1 : 0;
await browser.close();
