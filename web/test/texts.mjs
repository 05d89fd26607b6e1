// SPDX-License-Identifier: Apache-2.0
// node texts.mjs: numbers and labels as people read them. Needs no browser.
import assert from 'node:assert/strict';
import {metricText, quantityText, shown, tickText, timeBeside, timeText, unitText, withUnit} from '../src/format.js';
import {flowLabels, labelsOf} from '../src/labels.js';

// Times: three digits, the unit that fits, never an exponent.
const times = [[0, '0 µs'], [12.34, '12.3 µs'], [1.2, '1.20 µs'], [1240, '1.24 ms'], [999.4, '999 µs'], [999.7, '1.00 ms'], [0.000012, '12.0 ps'],
  [0.398, '398 ns'], [2.5e6, '2.50 s'], [1.5e9, '1500 s'], [-12.34, '-12.3 µs'], [NaN, '–']];
for (const [us, text] of times) assert.equal(timeText(us), text);
assert.equal(timeText(12.34, 0.42), '12.3 ±0.4 µs');
assert.equal(timeText(1240, 20), '1.24 ±0.02 ms');
for (let power = -9; power < 15; ++power) {
  for (const unit of ['us', 'B', '1', 'MB/s']) {
    for (const text of [(us) => timeText(us), tickText, quantityText, metricText].map((make) => make(1.2345 * 10 ** power, unit))) {
      assert.doesNotMatch(text, /\de[-+]?\d|\bus\b/, `${power} ${unit}: ${text}`);
    }
  }
}
assert.equal(timeBeside(0.398, 44.5), '0.40 µs');
assert.equal(timeBeside(398, 44500), '0.40 ms');
assert.equal(quantityText(65536, 'B'), '64 KiB');
assert.equal(quantityText(1014.812, 'MB/s', 0), '1014.81 MB/s');
assert.equal(quantityText(6.5, 'us', 0.25), '6.50 ±0.25 µs');
assert.deepEqual([0, 10, 100, 1000, 2.5e6].map((us) => tickText(us, 'us')), ['0 µs', '10 µs', '100 µs', '1 ms', '2.5 s']);
assert.equal(metricText(0.000012, 'MB/s'), '0.0000120');
assert.equal(metricText(12.345, 'us'), '12.35');

// What the program writes.
assert.equal(shown('300 us'), '300 µs');
assert.equal(shown('users of bus 3 wait 25us or 1 ms [us]'), 'users of bus 3 wait 25µs or 1 ms [µs]');
assert.equal(unitText('us/op'), 'µs/op');
assert.equal(withUnit('latency_mean', 'us'), 'latency_mean [µs]');

// Lists of flows, as tests/python/test_figures.py has them.
const one = 'from=1, to=0, size=64 KiB';
const two = `${one}; from=2, to=0, size=64 KiB`;
const cold = `${one}; from=2, to=0, size=64 KiB, cold=destination`;
assert.deepEqual(flowLabels([one, two, cold]), ['1→0', '1+2→0', '1→0; 2→0 cold destination']);
assert.deepEqual(flowLabels([one, 'to=2, size=4 KiB, kind=read, start=3 us']), ['1→0 64 KiB', '0→2 4 KiB, read, start 3 µs']);
assert.deepEqual(flowLabels([one, `${one} `]), [one, `${one} `]);
assert.deepEqual(labelsOf({name: 'workload.flows', values: [one, two], labels: [null, '2 senders']}), ['1→0', '2 senders']);
assert.deepEqual(labelsOf({name: 'exanest.block_timeout', values: ['25 us', '1 ms']}), ['25 µs', '1 ms']);
console.log('ok: numbers and labels');
