// SPDX-License-Identifier: Apache-2.0
// node large_run.mjs RUN LARGE: a run of 10^5 points in the folder LARGE, made of a small one: its points again and again,
// with other values of their metrics, on axes of 5 x 50 x 100 values for each of its four strategies.
import {closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync} from 'node:fs';
import {join} from 'node:path';

const [small, large] = process.argv.slice(2);
const templates = JSON.parse(readFileSync(join(small, 'results.json'), 'utf8'));
const SIZES = ['64 B', '1 KiB', '4 KiB', '64 KiB', '256 KiB'];
const LATENCIES = Array.from({length: 50}, (_, k) => `${100 + 10 * k} ns`);
const DRAWS = Array.from({length: 100}, (_, k) => String(k + 1));
const strategies = [...new Set(templates.map((point) => point.strategy))];

rmSync(large, {recursive: true, force: true});
mkdirSync(large);
const axes = `[axes]\nworkload.size = ${JSON.stringify(SIZES)}\nnetwork.internal_latency = ${JSON.stringify(LATENCIES)}\n`
  + `workload.iterations = [${DRAWS.join(', ')}]\n`;
// The seals of src/runs/seal.hpp.
const TABLE = Uint32Array.from({length: 256}, (_, n) => {
  for (let k = 0; k < 8; ++k) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});
const crc32 = (text, before = 0) =>
  ~Buffer.from(text).reduce((crc, byte) => TABLE[(crc ^ byte) & 255] ^ (crc >>> 8), ~before) >>> 0;
const digits = (crc) => crc.toString(16).padStart(8, '0');
const sealed = (object) => {
  const text = JSON.stringify(object).slice(0, -1);
  return `${text},\n"checksum": "${digits(crc32(text))}"}\n`;
};
const effective = readFileSync(join(small, 'effective.toml'), 'utf8').replace(/# checksum .*\n$/, '')
  .replace(/\[axes\]\n(?:[^[\n].*\n)*/, axes);
writeFileSync(join(large, 'effective.toml'), `${effective}# checksum ${digits(crc32(effective))}\n`);

// A generator of its own, so that the run is the same each time.
let state = 12345;
const random = () => {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return state / 2 ** 32;
};
const out = openSync(join(large, 'results.json'), 'w');
let count = 0;
let checksum = 0;
let text = '[';
const write = (last = '') => {
  text += last;
  checksum = crc32(text, checksum);
  writeSync(out, text);
  text = '';
};
for (const strategy of strategies) {
  for (const [s, size] of SIZES.entries()) {
    const template = templates.find((point) => point.strategy === strategy && point.parameters['workload.size'] === size)
      || templates.find((point) => point.strategy === strategy);
    for (const [l, latency] of LATENCIES.entries()) {
      for (const draw of DRAWS) {
        const point = structuredClone(template);
        Object.assign(point.parameters, {'workload.size': size, 'network.internal_latency': latency, 'workload.iterations': draw});
        const factor = (1 + s) * (1 + l / 50) * (0.9 + 0.2 * random());
        for (const metric of Object.values(point.metrics)) {
          if (metric.unit === 'us' || metric.unit === 'MB/s') metric.value *= factor;
          else if (metric.unit === '1' && metric.value > 9) metric.value = Math.round(metric.value * factor);
        }
        for (const row of point.breakdown) row.mean.value *= factor;
        if (random() < 0.001) Object.assign(point, {metrics: {}, breakdown: [], status: 'timed out', error: 'longer than 60 s'});
        text += `${count++ === 0 ? '' : ','}\n${JSON.stringify(point)}`;
        if (text.length > 1e6) write();
      }
    }
  }
}
write('\n]\n');
closeSync(out);
writeFileSync(join(large, 'meta.json'), sealed({results_json_crc32: checksum}));
const manifest = JSON.parse(readFileSync(join(small, 'manifest.json'), 'utf8'));
manifest.points = Array.from({length: count}, (_, k) => ({id: String(k), point: `point ${k}`}));
delete manifest.checksum;
writeFileSync(join(large, 'manifest.json'), sealed(manifest));
console.log(`${count} points in ${large}`);
