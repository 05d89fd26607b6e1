// SPDX-License-Identifier: Apache-2.0
// What the values of an axis are called on the page: the labels of the run, short names for lists of flows, or as files write them.
import {shown} from './format.js';

const DEFAULTS = {from: '0', to: '1', size: '4 KiB', kind: 'write', cold: 'none', transfers: '1', window: '1', start: '0 us',
  source_offset: '0 B', destination_offset: '0 B'};
const SILENT = ['size', 'kind']; // their values say what they are

function flowOf(text) {
  const pairs = text.split(',').filter((field) => field.trim()).map((field) => field.split('=').map((word) => word.trim()));
  return {...DEFAULTS, ...Object.fromEntries(pairs)};
}

/** "1+2→0 64 KiB; 3→0 cold destination": what all flows of all lists have in common is left out. */
export function flowLabels(texts) {
  const lists = texts.map((text) => text.split(';').filter((flow) => flow.trim()).map(flowOf));
  const all = lists.flat();
  const names = [...new Set(all.flatMap((flow) => Object.keys(flow)))].filter((name) => name !== 'from' && name !== 'to');
  const fields = names.filter((name) => new Set(all.map((flow) => flow[name])).size > 1);
  const wordsOf = (flow) => fields.filter((name) => flow[name] !== DEFAULTS[name] || name === 'size')
    .map((name) => (SILENT.includes(name) ? shown(flow[name]) : `${name} ${shown(flow[name])}`)).join(', ');
  const labels = lists.map((flows) => {
    const senders = new Map();
    for (const flow of flows) {
      const key = `→${flow.to}${wordsOf(flow) ? ` ${wordsOf(flow)}` : ''}`;
      senders.set(key, [...(senders.get(key) || []), flow.from]);
    }
    return [...senders].map(([key, who]) => who.join('+') + key).join('; ');
  });
  return new Set(labels).size === labels.length ? labels : texts.map(shown);
}

/** Of each of the axis's values its label. */
export function labelsOf(axis) {
  const own = axis.name === 'workload.flows' ? flowLabels(axis.values) : axis.values.map(shown);
  return own.map((text, v) => (axis.labels && axis.labels[v]) || text);
}
