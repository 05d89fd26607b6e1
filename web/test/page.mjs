// SPDX-License-Identifier: Apache-2.0
// node page.mjs REPORT.html RESULTS.json FOLDER: uses the page as a reader does; screenshots and downloads go to FOLDER.
// The run is that of tests/scripts/report.sh.
import assert from 'node:assert/strict';
import {readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {launch, open} from './browser.mjs';

const [report, results, folder] = process.argv.slice(2);
const points = JSON.parse(readFileSync(results, 'utf8'));
const browser = await launch();
const {page, complaints} = await open(browser, report, {colorScheme: 'light'});

const text = (selector) => page.locator(selector).first().innerText();
const marks = (section) => page.locator(`${section} .chart`).first().getAttribute('data-marks').then(Number);
const choice = (section, label) => page.locator(`${section} label.choice`).filter({has: page.locator('span', {hasText: label})}).first()
  .locator('select');
const paths = (section) => page.locator(`${section} .chart svg path`).count();
const svgText = (section) => page.locator(`${section} .chart svg`).first().evaluate((svg) =>
  [...svg.querySelectorAll('text')].map((node) => node.textContent));
const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const show = async (selector) => { await page.locator(selector).first().scrollIntoViewIfNeeded(); await settle(); };
async function downloaded(click) {
  const [file] = await Promise.all([page.waitForEvent('download'), click()]);
  const path = join(folder, file.suggestedFilename());
  await file.saveAs(path);
  return {name: file.suggestedFilename(), bytes: readFileSync(path)};
}
const csvOf = async (section) => (await downloaded(() => page.locator(`${section} button.csv`).first().click())).bytes.toString()
  .trim().split('\n').map((line) => line.split(','));
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;

const tests = {
  async 'the question, the facts and the failures stand at the top'() {
    assert.equal(await text('h1'), 'What does <b>fresh</b> memory cost & when?');
    assert.match(await text('.facts'), /exanest-qfdb.*24 points.*means over 2 seeds/);
    assert.match(await text('.failures'), /^2 points refused/);
    const findings = await page.locator('#findings li').allInnerTexts();
    assert.match(findings[0], /^latency_mean: with os.rlimit_memlock = 1 MiB, pin-once is lowest from workload.size = 64 B to 64 KiB, by a factor of/);
    assert.ok(findings.some((line) => /refused: pin-once at 1 of 6 places/.test(line)), findings.join('\n'));
    assert.match(findings.at(-1), /Welch.s t test over 2 seeds/);
  },
  async 'the table has the means of the seeds, and what failed as rows'() {
    const [head, ...rows] = await csvOf('#report-1');
    assert.equal(rows.length, 12);
    const column = head.indexOf('t_avg [us]');
    assert.equal(head[column + 1], 't_avg ± [us]');
    for (const row of rows) {
      const same = points.filter((p) => p.strategy === row[0] && Number(row[1]) === bytes(p.parameters['workload.size']));
      assert.equal(same.length, 4, `${row[0]} ${row[1]}`);
      const of = same.filter((p) => p.parameters['os.rlimit_memlock'] === memlock(row[2]) && p.metrics.latency_mean);
      if (of.length === 0) assert.equal(row[column], '');
      else assert.ok(Math.abs(Number(row[column]) - mean(of.map((p) => p.metrics.latency_mean.value))) < 1e-9, row.join());
    }
    assert.equal(await page.locator('#report-1 tr.failed td.bad').count(), 1);
    assert.match(await text('#report-1 td.bad'), /^refused: .*RLIMIT_MEMLOCK/);
  },
  async 'what limits the points is said, and each node that was busy is a row'() {
    const limited = points.filter((p) => p.limit);
    const said = await page.locator('#limits li').allInnerTexts();
    assert.ok(said.length > 1 && said.some((words) => words.startsWith('Limited by no part of the machine alone: none is busy for more than ')), said.join('; '));
    const more = said.map((words) => Number(words.match(/and ([\d,]+) more$/)?.[1].replace(',', '') ?? 0) + 1);
    assert.equal(more.reduce((a, b) => a + b, 0), limited.length);
    for (const p of limited.filter((each) => !each.limit.startsWith('Limited by no part'))) {
      const [what] = p.limit.match(/(the|The) .* of node \d+/);
      assert.ok(said.some((words) => words.toLowerCase().includes(what.toLowerCase())), p.limit);
    }
    await page.locator('#limits summary').click();
    const [head, ...rows] = await csvOf('#limits');
    assert.deepEqual(rows.map((row) => row[head.indexOf('part')]), points.flatMap((p) => Object.keys(p.parts ?? {})));
    const link = rows.map((row) => Number(row[head.indexOf('utilisation_link [%]')]));
    points.flatMap((p) => Object.values(p.parts ?? {})).forEach((part, k) => {
      assert.ok(Math.abs(link[k] - (part.utilisation_link?.value ?? 0)) < 1e-4, `${link[k]} is not ${part.utilisation_link?.value}`);
    });
    await page.locator('#limits summary').click();
  },
  async 'each report has its chart'() {
    assert.equal(await marks('#report-1'), 11);
    for (const section of ['#report-1', '#report-2', '#report-3', '#explorer', '#series']) {
      await show(`${section} .chart`);
      assert.ok(await paths(section) > 8, `${section} draws ${await paths(section)} paths`);
    }
    assert.equal(await page.locator('#report-4 .verdict td').count(), 6);
    assert.ok((await svgText('#report-3')).some((words) => /(source|destination)/.test(words)));
  },
  async 'the pointer tells what a mark is'() {
    await show('#report-2 .chart');
    const box = await page.locator('#report-2 .chart').boundingBox();
    const tip = page.locator('#report-2 .near-tip');
    let told = '';
    for (let y = 60; y < box.height - 60 && !told; y += 8) {
      await page.mouse.move(box.x + 0.5 * box.width, box.y + y);
      if (await tip.isVisible()) told = await tip.innerText();
    }
    assert.match(told, /workload\.size = .*\n.*latency_mean/s);
    await page.mouse.move(box.x + 0.5 * box.width, box.y - 30);
    assert.ok(!await tip.isVisible());
  },
  async 'an area is zoomed to, and back'() {
    await show('#report-1 .chart');
    const before = await svgText('#report-1');
    const box = await page.locator('#report-1 .chart').boundingBox();
    await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.4 * box.height);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.7 * box.height, {steps: 5});
    await page.mouse.up();
    await settle();
    assert.notDeepEqual(await svgText('#report-1'), before);
    await page.locator('#report-1 button', {hasText: 'Reset zoom'}).click();
    await settle();
    assert.deepEqual(await svgText('#report-1'), before);
  },
  async 'a filter holds for all charts and tables'() {
    await page.locator('#filters > summary').click();
    const box = (axis, value) => page.locator(`fieldset[data-axis="${axis}"] label`).filter({hasText: value}).locator('input');
    await box('strategy', 'pin-once').uncheck();
    assert.match(await text('#filters > summary'), /12 of 24 points/);
    await show('#report-1 .chart');
    assert.equal(await marks('#report-1'), 6);
    assert.equal(await page.locator('#report-1 tbody tr').count(), 6);
    assert.equal(await page.locator('#report-1 td.bad').count(), 0);
    assert.deepEqual(await page.locator('#report-2 thead').first().locator('th').allInnerTexts(), ['workload.size', 'fault/touch-a-page']);
    assert.equal(await page.locator('#report-4 .verdict td').count(), 3);
    await box('workload.size', '64 B').uncheck();
    assert.match(await text('#filters > summary'), /8 of 24 points/);
    await page.locator('fieldset[data-axis="workload.size"] button', {hasText: 'none'}).click();
    assert.match(await text('#report-1 .figure .hint'), /filter leaves no points/);
    await page.locator('#filters button', {hasText: 'Show all'}).click();
    assert.match(await text('#filters > summary'), /24 of 24 points/);
    await settle();
    assert.equal(await marks('#report-1'), 11);
    await page.locator('#filters > summary').click();
  },
  async 'metric, axes and kind of a chart are chosen'() {
    await show('#explorer .chart');
    await choice('#explorer', 'Chart').selectOption('lines');
    await choice('#explorer', 'Metric').selectOption({label: 'faults'});
    await choice('#explorer', 'x axis').selectOption({label: 'workload.size'});
    await choice('#explorer', 'One line').selectOption({label: 'strategy'});
    await settle();
    assert.ok((await svgText('#explorer')).some((words) => /^faults\b/.test(words)));
    assert.equal(await marks('#explorer'), 11);
    await page.locator('#explorer label.check', {hasText: 'log y'}).locator('input').setChecked(true);
    await settle();
    assert.match(await text('#explorer .figure .hint'), /values of 0 stand at the foot of the log axis/);
    assert.equal(await marks('#explorer'), 11);
    assert.ok((await svgText('#explorer')).includes('0'));
    await page.locator('#explorer label.check', {hasText: 'log y'}).locator('input').setChecked(false);
    await choice('#explorer', 'Metric').selectOption({label: 'latency p99.9'});
    await choice('#explorer', 'x axis').selectOption({label: 'strategy'});
    await settle();
    assert.equal(await choice('#explorer', 'Chart').inputValue(), 'bars');
    assert.ok((await svgText('#explorer')).includes('fault/touch-a-page'));
    await choice('#explorer', 'Chart').selectOption('heat');
    await choice('#explorer', 'y axis').selectOption({label: 'workload.size'});
    await settle();
    assert.equal(await marks('#explorer'), 5);
    assert.ok((await choice('#explorer', 'os.rlimit_memlock').locator('option:checked').innerText()) === '1 MiB');
    await choice('#explorer', 'os.rlimit_memlock').selectOption({label: 'all'});
    await settle();
    assert.equal(await marks('#explorer'), 6);
    assert.match(await text('#explorer .figure .hint'), /mean over os.rlimit_memlock/);
    for (const kind of ['points', 'breakdown']) {
      await choice('#explorer', 'Chart').selectOption(kind);
      await settle();
      assert.ok(await paths('#explorer') > 8, kind);
    }
  },
  async 'charts are exported as SVG and PNG'() {
    await show('#report-1 .chart');
    const svg = await downloaded(() => page.locator('#report-1 button', {hasText: 'SVG'}).click());
    assert.equal(svg.name, 'latency_mean-over-workload.size.svg');
    const found = await page.evaluate((source) => {
      const parsed = new DOMParser().parseFromString(source, 'image/svg+xml');
      return {root: parsed.documentElement.nodeName, paths: parsed.querySelectorAll('path').length,
        words: [...parsed.querySelectorAll('text')].map((node) => node.textContent)};
    }, svg.bytes.toString());
    assert.equal(found.root, 'svg');
    assert.ok(found.paths > 8);
    assert.ok(found.words.includes('latency_mean over workload.size') && found.words.includes('latency_mean (log scale)'), found.words.join('; '));
    const png = await downloaded(() => page.locator('#report-1 button', {hasText: 'PNG'}).click());
    const colours = await page.evaluate(async (source) => {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(source), (c) => c.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      const context = canvas.getContext('2d');
      context.drawImage(bitmap, 0, 0);
      return [bitmap.width, new Set(new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)).size];
    }, png.bytes.toString('base64'));
    assert.ok(colours[0] > 1500 && colours[1] > 20, String(colours));
  },
  async 'tables are sorted'() {
    const column = () => page.locator('#report-1 tbody tr').evaluateAll((rows) => rows.filter((row) => !row.classList.contains('failed'))
      .map((row) => Number.parseFloat(row.cells[3].innerText)));
    const head = page.locator('#report-1 thead button').nth(3);
    await head.click();
    const up = await column();
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    await head.click();
    assert.deepEqual(await column(), [...up].reverse());
    await head.click();
  },
  async 'all points, failures, configuration and metrics are unfolded'() {
    await show('#points > summary'); // charts that come into sight are drawn, and move what is below
    await page.locator('#points > summary').click();
    await page.waitForSelector('#points tbody tr');
    assert.equal(await page.locator('#points tbody tr').count(), 24);
    const [head, ...rows] = await csvOf('#points');
    assert.equal(rows.length, 24);
    const [seed, p99] = [head.indexOf('seed'), head.indexOf('latency_p99 [us]')];
    points.forEach((point, k) => {
      assert.equal(Number(rows[k][seed]), point.seed);
      if (point.metrics.latency_p99) assert.equal(Number(rows[k][p99]), point.metrics.latency_p99.value);
    });
    assert.match(await text('#remarks'), /refused\s.*RLIMIT_MEMLOCK.*\s2\s/);
    await page.locator('#configuration > summary').click();
    assert.match(await text('#configuration'), /workload\.iterations\s+2\s+\d+\s+experiment, line \d+/);
    assert.match(await text('#configuration'), /os\.thp.*platform exanest-qfdb, line \d+/s);
    await page.locator('#metrics > summary').click();
    assert.match(await text('#metrics'), /latency_mean \[µs\]/);
  },
  async 'time series of a point are chosen'() {
    await show('#series .chart');
    await choice('#series', 'Points').selectOption({index: 2});
    await settle();
    assert.ok(await paths('#series') > 4);
  },
  async 'light and dark follow the system and the switch'() {
    const light = await background();
    await page.emulateMedia({colorScheme: 'dark'});
    await settle();
    const dark = await background();
    assert.notEqual(light, dark);
    await page.locator('#theme label', {hasText: 'Light'}).click();
    assert.equal(await background(), light);
    await page.emulateMedia({colorScheme: 'light'});
    await settle();
    await page.locator('#theme label', {hasText: 'Dark'}).click();
    assert.equal(await background(), dark);
    await show('#report-1 .chart');
    await page.screenshot({path: join(folder, 'dark.png')});
    const ink = await page.locator('#report-1 .chart svg text').first().getAttribute('fill');
    assert.equal(ink.toLowerCase(), '#e6edf3');
  },
  async 'paper is light, has no controls, and all of every chart'() {
    const width = await page.evaluate(() => {
      window.dispatchEvent(new Event('beforeprint'));
      return Math.max(...[...document.querySelectorAll('.chart svg, .chart canvas')].map((node) => node.getBoundingClientRect().width));
    });
    assert.ok(width < 700, `a chart is ${width} px wide`);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
    assert.ok(await page.evaluate(() => document.getElementById('configuration').open));
    await page.emulateMedia({media: 'print'});
    assert.ok(!await page.locator('#theme').isVisible() && !await page.locator('#report-1 .controls').isVisible());
    await page.emulateMedia({media: null});
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await page.pdf({path: join(folder, 'printed.pdf'), format: 'A4'});
    assert.ok(statSync(join(folder, 'printed.pdf')).size > 50000);
  },
  async 'a narrow window needs no scrolling to the side'() {
    await page.locator('#theme label', {hasText: 'Auto'}).click();
    await page.setViewportSize({width: 390, height: 800});
    await show('#report-1 .chart');
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((node) => !node.closest('.scroll')
      && node.getBoundingClientRect().right > 391).map((node) => `${node.tagName}.${node.className} in ${node.closest('[id]').id}`));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, wide.join('\n'));
    await page.screenshot({path: join(folder, 'narrow.png')});
  },
};

function bytes(quantity) {
  const [number, unit] = quantity.split(' ');
  return Number(number) * {B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3}[unit];
}
function memlock(plain) {
  return ['1 MiB', '1 GiB'].find((quantity) => String(bytes(quantity)) === plain);
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  const before = complaints.length;
  try {
    await test();
    assert.deepEqual(complaints.slice(before), []);
    console.log(`ok: ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
assert.deepEqual(complaints, []);
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
