// SPDX-License-Identifier: Apache-2.0
// How series look: a colour, a symbol and dashes for each number that the program gives strategies; in figures, too.
import looks from '../../python/faultline/looks.json';

export const COLOURS = {light: looks.light, dark: looks.dark};
const SYMBOLS = looks.markers.map(({corners}) =>
  `path://M${corners.map(([x, y]) => `${Math.round(100 * x)},${Math.round(-100 * y)}`).join('L')}Z`);
/** Of one colour as many lines can be told apart. */
export const MOST_DASHES = looks.dashes.length;

export const colourOf = (c, look) => c.series[look % c.series.length];
/** A colour and a symbol meet once in 24 times 24 looks. */
export const symbolOf = (look) => SYMBOLS[(look + Math.floor(look / looks.light.length)) % SYMBOLS.length];
export const dashOf = (number) => {
  const lengths = looks.dashes[number % looks.dashes.length];
  return lengths.length > 0 ? lengths : 'solid';
};
/** A line's dashes: its look's own or, where several lines have a look, those of what tells them apart. */
export const dashesOf = (lines) => {
  const varied = lines.some((line) => line.variant > 0);
  return (line) => dashOf(varied ? line.variant : Math.floor(line.colour / 8));
};
