// SPDX-License-Identifier: Apache-2.0
// node pictures.mjs REPORT.html RESULTS.json FOLDER: what the charts show: waterfalls, looks, failed transfers, what is told near a
// line, units, telephone and paper. The run is the third one of tests/scripts/report.sh, in which transfers fail.
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {launch, open} from './browser.mjs';
import {choose, chosen, collisions, dataOf, marksOf, runTests, settle, show, words} from './reader.mjs';

const [report, results, folder] = process.argv.slice(2);
const points = JSON.parse(readFileSync(results, 'utf8'));
const looks = JSON.parse(readFileSync(new URL('../../python/faultline/looks.json', import.meta.url), 'utf8'));
const browser = await launch();
const {page, complaints} = await open(browser, report, {colorScheme: 'light'});
const data = await dataOf(page);
const point = (strategy, size) => points.find((p) => p.strategy === strategy && p.parameters['workload.size'] === size);
const rgb = (hex) => `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(', ')})`;
const colourOf = (strategy) => rgb(looks.light[data.axes[0].looks[data.axes[0].values.indexOf(strategy)]]);
const note = (section) => page.locator(`${section} .figure .hint`).first().innerText();
const tip = (section) => page.locator(`${section} .near-tip`);

/** Bars of a waterfall from top to bottom; "left" or "right" of the chart's middle. */
async function waterfall(section, left, above) {
  const marks = await marksOf(page, section);
  const box = await page.locator(`${section} .chart`).first().boundingBox();
  return marks.filter((mark) => mark.fill !== 'rgb(0, 0, 0)' && mark.height > 10 && mark.height < 20)
    .filter((mark) => (mark.x < box.x + box.width / 2) === left && above(mark.y - box.y)).sort((a, b) => a.y - b.y);
}

const tests = {
  async 'a waterfall begins each step where the one before ended, in order, no colour twice, and adds up'() {
    await show(page, '#report-3 .chart');
    const shown = await words(page, '#report-3');
    const {breakdown, metrics} = point('resident', '64 B');
    const bars = await waterfall('#report-3', true, (y) => y < 250);
    assert.equal(bars.length, breakdown.length);
    const total = breakdown.reduce((sum, row) => sum + row.mean.value, 0);
    assert.ok(Math.abs(total - metrics.latency_mean.value) < 1e-6 * total);
    assert.ok(shown.some((text) => text.startsWith('resident: 6.50 µs in all')), shown.join('; '));
    const end = bars[bars.length - 1].x + bars[bars.length - 1].width;
    const scale = (end - bars[0].x) / total;
    let before = 0;
    bars.forEach((bar, k) => {
      assert.ok(Math.abs(bar.x - bars[0].x - before * scale) < 1.5, `${breakdown[k].step} starts at ${bar.x}`);
      before += breakdown[k].mean.value;
      if (breakdown[k].mean.value > 0.1) assert.ok(Math.abs(bar.width - breakdown[k].mean.value * scale) < 2, breakdown[k].step);
    });
    assert.equal(new Set(bars.map((bar) => bar.fill)).size, bars.length);
    const names = shown.filter((text) => breakdown.some((row) => row.step === text)).slice(0, breakdown.length);
    assert.deepEqual(names, breakdown.map((row) => row.step));
    const many = await waterfall('#report-3', false, (y) => y < 600);
    assert.ok(many.length > 20);
    assert.equal(new Set(many.map((bar) => bar.fill)).size, many.length, 'a colour twice');
  },
  async 'a waterfall of many attempts keeps its sum, and says what failed'() {
    await choose(page, '#report-3', 'strategy', {label: 'fault/touch-a-page'});
    await choose(page, '#report-3', 'workload.size', {label: '32 KiB'});
    const shown = await words(page, '#report-3');
    assert.ok(shown.some((text) => /^resend \d+: all its steps$/.test(text)), shown.join('; '));
    const {value} = point('fault/touch-a-page', '32 KiB').metrics.latency_mean;
    assert.match(shown.join(' '), new RegExp(`${value.toPrecision(3)} µs in all; \\d+ of 40 failed, not in it`));
    assert.ok(point('fault/touch-a-page', '32 KiB').breakdown.length > 50);
    const bars = await waterfall('#report-3', true, () => true);
    assert.ok(bars.length <= 50);
    await choose(page, '#report-3', 'strategy', {label: 'all'});
  },
  async 'a strategy has its colour and symbol, none of them twice'() {
    await show(page, '#report-1 .chart');
    const marks = await marksOf(page, '#report-1');
    for (const name of data.axes[0].values) assert.ok(marks.some((mark) => mark.fill === colourOf(name)), `${name}: ${colourOf(name)}`);
    assert.equal(new Set(data.axes[0].values.map(colourOf)).size, data.axes[0].values.length);
    const shapes = data.axes[0].values.map((name) => marks.find((mark) => mark.fill === colourOf(name) && mark.width < 12).shape);
    assert.ok(shapes.every((shape) => shape.length > 5));
    assert.equal(new Set(shapes).size, shapes.length, shapes.join('; '));
    assert.equal(new Set(looks.light).size, 24);
    assert.equal(new Set(looks.dark).size, 24);
    assert.equal(new Set(looks.markers.map((marker) => JSON.stringify(marker.corners))).size, 24);
  },
  async 'failed transfers are marked and counted in chart, table, tip and file'() {
    await show(page, '#report-1 .chart');
    const lost = points.filter((p) => p.metrics.transfers_failed?.value > 0);
    assert.ok(lost.length > 0);
    const hollow = (await marksOf(page, '#report-1')).filter((mark) => mark.fill === 'rgb(255, 255, 255)' && mark.stroke === colourOf('fault/touch-a-page') && mark.width > 6);
    assert.equal(hollow.length, lost.length);
    const said = await note('#report-1');
    for (const p of lost) {
      const text = `${p.metrics.transfers_failed.value} of ${p.metrics.transfers.value} failed`;
      assert.ok(said.includes(`${p.strategy}, workload.size = ${p.parameters['workload.size']}: ${text}`), said);
      const row = page.locator('#report-1 tbody tr').filter({hasText: p.strategy}).filter({hasText: p.parameters['workload.size']});
      assert.ok((await row.innerText()).includes(text), await row.innerText());
      assert.ok((await page.locator('#report-2 tbody').first().innerText()).includes(text));
      const {x, y, width, height} = hollow.reduce((a, b) => (p.parameters['workload.size'] === '16 KiB' ? (a.x < b.x ? a : b) : (a.x > b.x ? a : b)));
      await page.mouse.move(x + width / 2, y + height / 2);
      assert.ok((await tip('#report-1').innerText()).includes(text));
    }
    assert.equal(await page.locator('#report-1 td .lost').count() % lost.length, 0);
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('#report-1 button.csv').click()]);
    const [head, ...rows] = readFileSync(await file.path(), 'utf8').trim().split('\n').map((line) => line.split(','));
    assert.ok(head.includes('unfinished seeds'));
    const column = head.indexOf('failed transfers');
    assert.deepEqual(rows.map((row) => Number(row[column])), points.map((p) => p.metrics.transfers_failed.value));
    const [svg] = await Promise.all([page.waitForEvent('download'), page.locator('#report-1 button', {hasText: 'SVG'}).click()]);
    assert.match(readFileSync(await svg.path(), 'utf8').replace(/<[^>]*>/g, ' '), /hollow: transfers failed/i);
    await choose(page, '#explorer', 'Chart', 'heat');
    await show(page, '#explorer .chart');
    assert.ok((await words(page, '#explorer')).some((text) => /of 40 failed/.test(text)), (await words(page, '#explorer')).join('; '));
  },
  async 'a ratio has the mark of what it is beside, too'() {
    const own = ['64 B', '16 KiB', '32 KiB'].map((size) => point('fault/touch-a-page', size).metrics);
    assert.ok(own.some((metrics) => metrics.transfers_failed.value > 0));
    await show(page, '#report-4 .chart');
    const rows = await page.locator('#report-4 tbody tr').all();
    for (const [k, row] of rows.entries()) {
      const cell = await row.locator('td').nth(data.axes[0].values.indexOf('resident')).innerText();
      const failed = own[k].transfers_failed.value;
      if (failed > 0) assert.match(cell, new RegExp(`${failed} of 80 failed`));
      else assert.doesNotMatch(cell, /failed/);
      if (failed > 0) assert.ok((await note('#report-4')).includes(`resident, workload.size = ${data.axes[1].values[k]}: ${failed} of 80 failed`));
    }
  },
  async 'the point of a line that is nearest is told, not on its symbols alone'() {
    await show(page, '#report-1 .chart');
    const {y: top} = await page.locator('#report-1 .chart').first().boundingBox();
    const marks = (await marksOf(page, '#report-1')).filter((mark) => mark.fill === colourOf('pin-once') && mark.width < 12 && mark.width > 5
      && mark.y > top + 70); // below the legend
    const [first, second] = marks.sort((a, b) => a.x - b.x).filter((mark, k, list) => k === 0 || mark.x - list[k - 1].x > 60).slice(0, 2);
    const at = (part) => [first.x + 4 + part * (second.x - first.x), first.y + 4 + part * (second.y - first.y)];
    for (const [part, size] of [[0.3, '64 B'], [0.7, '16 KiB']]) {
      const [x, y] = at(part);
      await page.mouse.move(x, y + 12);
      const text = await tip('#report-1').innerText();
      assert.match(text, new RegExp(`workload.size = ${size}`));
      assert.match(text, /latency_mean\s+\d+(\.\d+)? µs/);
    }
    const [x, y] = at(0.5);
    await page.mouse.move(x, y + 55);
    assert.ok(!await tip('#report-1').isVisible());
  },
  async 'lines that lie on each other are told'() {
    assert.match(await note('#report-1'), /on top of each other: resident, pin-once/i);
    await page.locator('#filters > summary').click();
    const box = page.locator('fieldset[data-axis="strategy"] label').filter({hasText: 'resident'}).locator('input');
    await box.uncheck();
    await settle(page);
    assert.doesNotMatch(await note('#report-1'), /on top of each other/i);
    await box.check();
    await page.locator('#filters > summary').click();
    await settle(page);
  },
  async 'no bar stands on a log axis, and values of 0 at its foot'() {
    await choose(page, '#explorer', 'Chart', 'bars');
    await choose(page, '#explorer', 'x axis', {label: 'strategy'});
    await choose(page, '#explorer', 'Metric', {label: 'goodput'});
    await show(page, '#explorer .chart');
    await page.locator('#explorer label.check', {hasText: 'log y'}).locator('input').setChecked(false);
    await settle(page);
    const tall = async () => (await marksOf(page, '#explorer')).filter((mark) => mark.height > 30 && mark.width > 5 && mark.width < 60 && /^rgb\(/.test(mark.fill)).length;
    assert.ok(await tall() > 0);
    await page.locator('#explorer label.check', {hasText: 'log y'}).locator('input').setChecked(true);
    await settle(page);
    assert.equal(await tall(), 0);
    assert.match(await note('#explorer'), /markers, because a bar has no length on a log axis/i);
    await choose(page, '#explorer', 'Metric', {label: 'faults'});
    await page.locator('#explorer label.check', {hasText: 'log y'}).locator('input').setChecked(true);
    await settle(page);
    assert.match(await note('#explorer'), /values of 0 stand at the foot of the log axis/i);
    assert.equal(await page.locator('#explorer .chart').getAttribute('data-marks'), '12');
  },
  async 'times are written as people write them'() {
    for (const details of await page.locator('details').all()) await details.evaluate((node) => { node.open = true; });
    await settle(page);
    const text = await page.evaluate(() => document.body.innerText);
    assert.ok(text.includes('µs'));
    assert.deepEqual(text.split('\n').filter((line) => /\bus\b|\dus\b/.test(line)), []);
    assert.deepEqual(text.split('\n').filter((line) => /\d[eE][-+]?\d/.test(line) && !/[0-9a-f]{7,}/.test(line)), []);
    for (const details of await page.locator('details').all()) await details.evaluate((node) => { node.open = false; });
  },
  async 'labels that the run gives to values are shown'() {
    const html = readFileSync(report, 'utf8');
    const at = html.indexOf('"values":["64 B"');
    assert.ok(at > 0);
    const labelled = join(folder, 'labelled.html');
    writeFileSync(labelled, `${html.slice(0, at)}"labels":["tiny","a block","two blocks"],${html.slice(at)}`);
    const other = await open(browser, labelled);
    await show(other.page, '#report-2 .chart');
    const shown = await words(other.page, '#report-2');
    assert.ok(['tiny', 'a block', 'two blocks'].every((label) => shown.includes(label)), shown.join('; '));
    assert.match(await other.page.locator('#report-2 tbody').first().innerText(), /^tiny/);
    assert.deepEqual(other.complaints, []);
    await other.page.close();
  },
  async 'on a telephone nothing is cut or lies on something else'() {
    const other = await open(browser, report, {viewport: {width: 390, height: 844}, hasTouch: true});
    for (const section of ['#report-1', '#report-2', '#report-3', '#explorer']) {
      await show(other.page, `${section} .chart`);
      await other.page.waitForTimeout(150);
      assert.deepEqual(await collisions(other.page), []);
    }
    assert.equal(await other.page.evaluate(() => document.documentElement.scrollWidth), 390);
    await other.page.screenshot({path: join(folder, 'telephone.png')});
    await show(other.page, '#report-1 .chart');
    const box = await other.page.locator('#report-1 .chart').first().boundingBox();
    let told = false;
    for (let y = 90; y < 330 && !told; y += 15) {
      await other.page.touchscreen.tap(box.x + box.width / 2, box.y + y);
      told = await other.page.locator('#report-1 .near-tip').isVisible();
    }
    assert.ok(told, 'a tap tells nothing');
    assert.deepEqual(other.complaints, []);
    await other.page.close();
  },
  async 'on paper nothing is cut or lies on something else, and tables are as wide as the page'() {
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({media: 'print'});
    await page.setViewportSize({width: 660, height: 1000});
    assert.deepEqual(await collisions(page), []);
    const wide = await page.evaluate(() => [...document.querySelectorAll('table, .chart svg')].filter((node) => node.getBoundingClientRect().right > 662)
      .map((node) => `${node.tagName} in ${node.closest('[id]').id}: ${node.getBoundingClientRect().right}`));
    assert.deepEqual(wide, []);
    await page.emulateMedia({media: null});
    await page.setViewportSize({width: 1280, height: 900});
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    await settle(page);
  },
  async 'the chart that the reader chose stays'() {
    assert.equal(await chosen(page, '#explorer', 'Metric'), 'faults');
  },
};

process.exitCode = await runTests(tests, complaints) > 0 ? 1 : 0;
await browser.close();
