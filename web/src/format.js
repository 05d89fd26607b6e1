// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, with their units.

export const withUnit = (name, unit) => (unit && unit !== '1' ? `${name} [${unit}]` : name);

/** As the program's tables show a metric: times and rates with two decimals, counts and bytes with none. */
export function metricText(value, unit, interval = 0) {
  if (!Number.isFinite(value)) return '–';
  const halfWidth = interval > 1e-9 * Math.abs(value) ? interval : 0; // rounding is no noise
  const share = unit === '1' && (!Number.isInteger(value) || halfWidth > 0);
  const decimals = share ? 3 : unit === '1' || unit === 'B' || unit === '' ? 0 : 2;
  const text = value !== 0 && Math.abs(value) < 0.005 && decimals === 2 ? value.toPrecision(3) : value.toFixed(decimals);
  return halfWidth > 0 ? `${text} ±${halfWidth.toFixed(decimals)}` : text;
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const TIMES = [[1e6, 's'], [1e3, 'ms'], [1, 'us'], [1e-3, 'ns'], [1e-6, 'ps']];

const short = (value, digits) => String(Number(value.toPrecision(digits)));

/** A tick of an axis: bytes as KiB and so on, times with the unit that fits, others with SI prefixes. */
export function tickText(value, unit, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (unit === 'B') {
    const power = Math.max(0, Math.min(BINARY.length - 1, Math.floor(Math.log2(size) / 10)));
    return `${short(value / 1024 ** power, digits)} ${BINARY[power]}`;
  }
  if (unit === 'us') {
    const [scale, name] = TIMES.find(([s]) => size >= s * 0.9999) || TIMES[TIMES.length - 1];
    return `${short(value / scale, digits)} ${name}`;
  }
  if (size >= 1e9) return `${short(value / 1e9, digits)} G`;
  if (size >= 1e6) return `${short(value / 1e6, digits)} M`;
  if (size >= 1e4) return `${short(value / 1e3, digits)} k`;
  return short(value, digits);
}

export const csvField = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
