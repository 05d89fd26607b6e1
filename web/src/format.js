// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, with their units.

/** The program writes "us", a reader "µs": of a unit, and of a text with quantities in it. */
export const unitText = (unit) => unit.replace(/^us\b/, 'µs');
export const shown = (text) => String(text).replace(/(\d ?)us\b/g, '$1µs').replace(/\[us\]/g, '[µs]');
export const withUnit = (name, unit) => (unit && unit !== '1' ? `${name} [${unitText(unit)}]` : name);

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const TIMES = [[1e6, 's'], [1e3, 'ms'], [1, 'µs'], [1e-3, 'ns'], [1e-6, 'ps']];

// Never with an exponent.
const short = (value, digits) => {
  const number = Number(value.toPrecision(digits));
  return Math.abs(number) >= 1e-6 && Math.abs(number) < 1e21 || number === 0 ? String(number) : number.toFixed(12).replace(/0+$/, '');
};
const precise = (value, digits) => {
  const whole = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  return value.toFixed(Math.max(0, Math.min(20, digits - 1 - whole)));
};
const timeScale = (us) => TIMES.find(([scale]) => Math.abs(us) >= scale * 0.9995) || TIMES[TIMES.length - 1];

/** "12.3 µs", "1.24 ms", "0 µs"; with an interval "12.3 ±0.4 µs". */
export function timeText(us, interval = 0) {
  if (!Number.isFinite(us)) return '–';
  if (us === 0 && !(interval > 0)) return '0 µs';
  const [scale, unit] = timeScale(us === 0 ? interval : us);
  const text = precise(us / scale, 3);
  const decimals = (text.split('.')[1] || '').length;
  return `${text}${interval > 0 ? ` ±${(interval / scale).toFixed(decimals)}` : ''} ${unit}`;
}

/** In the unit of another time: of times that are to be compared. */
export function timeBeside(us, other) {
  const [scale, unit] = timeScale(other);
  return `${(us / scale).toFixed(2)} ${unit}`;
}

const realWidth = (value, interval) => (interval > 1e-9 * Math.abs(value) ? interval : 0); // rounding is no noise

/** As the program's tables show a metric: times and rates with two decimals, counts and bytes with none. */
export function metricText(value, unit, interval = 0) {
  if (!Number.isFinite(value)) return '–';
  const halfWidth = realWidth(value, interval);
  const share = unit === '1' && (!Number.isInteger(value) || halfWidth > 0);
  const decimals = share ? 3 : unit === '1' || unit === 'B' || unit === '' ? 0 : 2;
  if (value !== 0 && Math.abs(value) < 0.005 && decimals === 2) return unit === 'us' ? timeText(value, halfWidth) : precise(value, 3);
  return halfWidth > 0 ? `${value.toFixed(decimals)} ±${halfWidth.toFixed(decimals)}` : value.toFixed(decimals);
}

/** A value by itself, with its unit. */
export function quantityText(value, unit, interval = 0) {
  if (!Number.isFinite(value)) return '–';
  if (unit === 'us') return timeText(value, realWidth(value, interval));
  if (unit === 'B' && realWidth(value, interval) === 0) return tickText(value, unit);
  return `${metricText(value, unit, interval)}${unit && unit !== '1' ? ` ${unit}` : ''}`;
}

/** A tick of an axis: bytes as KiB and so on, times with the unit that fits, others with SI prefixes. */
export function tickText(value, unit, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return value === 0 && unit === 'us' ? '0 µs' : value === 0 && unit === 'B' ? '0 B' : String(value);
  const size = Math.abs(value);
  if (unit === 'B') {
    const power = Math.max(0, Math.min(BINARY.length - 1, Math.floor(Math.log2(size) / 10)));
    return `${short(value / 1024 ** power, digits)} ${BINARY[power]}`;
  }
  if (unit === 'us') {
    const [scale, name] = timeScale(value);
    return `${short(value / scale, digits)} ${name}`;
  }
  if (size >= 1e9) return `${short(value / 1e9, digits)} G`;
  if (size >= 1e6) return `${short(value / 1e6, digits)} M`;
  if (size >= 1e4) return `${short(value / 1e3, digits)} k`;
  return short(value, digits);
}

const csvField = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
/** `lines`: of texts. */
export const csvText = (lines) => lines.map((line) => `${line.map(csvField).join(',')}\n`).join('');
