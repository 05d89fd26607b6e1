// SPDX-License-Identifier: Apache-2.0
// The shapes of lanes and of what is on them, as ECharts draws them.
import {lerp} from 'zrender/lib/tool/color.js';
import {el} from '../dom.js';

export const LETTER = 0.56; // of its size, how wide a letter is
const PAD = 4; // pixels before the text of a bar

/** A round distance of ticks, of which there are at most `most`. */
export function tickStep(length, most) {
  const power = 10 ** Math.floor(Math.log10(length / most));
  return power * [1, 2, 5, 10].find((factor) => length / (power * factor) <= most);
}

function stripes(colour, page) {
  const canvas = el('canvas', {width: 8, height: 8});
  const pen = canvas.getContext('2d');
  pen.fillStyle = page;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = colour;
  pen.lineWidth = 3;
  for (const shift of [-8, 0, 8]) {
    pen.moveTo(shift, 8);
    pen.lineTo(shift + 8, 0);
  }
  pen.stroke();
  return {image: canvas, repeat: 'repeat', imageWidth: 8, imageHeight: 8};
}

/** The text, as much of it as has room, or none. */
function fitting(text, room, font) {
  const letters = Math.floor(room / (font * LETTER));
  if (letters >= text.length) return text;
  return letters >= 7 ? `${text.slice(0, letters - 1)}…` : '';
}

/** What a drawing has in common. `at`: {c: colours, font, left, width, band, title, narrow, stories}. */
export class Drawing {
  constructor(at) {
    Object.assign(this, at);
    this.striped = new Map();
  }
  text(text, x, y, style = {}) {
    return {type: 'text', silent: true, style: {text, x, y, verticalAlign: 'middle', fontSize: this.font, fill: this.c.text, ...style}};
  }
  rule(x1, y, x2, stroke) {
    return {type: 'line', silent: true, shape: {x1, y1: y, x2, y2: y}, style: {stroke, lineWidth: 1}};
  }
  /** Blue at the source, orange at the destination, as in the report; dark enough for white letters. */
  colourOf(lane) {
    const [end] = this.stories[0].endsAt(lane.node);
    const colour = this.c.series[{source: 2, sender: 2, destination: 1, receiver: 1}[end] ?? 7];
    return this.c.name === 'light' ? lerp(0.15, [colour, '#000000']) : colour;
  }
  stripesOf(colour) {
    if (!this.striped.has(colour)) this.striped.set(colour, stripes(colour, this.c.page));
    return this.striped.get(colour);
  }
  /** The second story is striped, or empty; of the first one what decides the time is full, and the rest is pale. */
  styleOf(mark) {
    const {c} = this;
    const colour = this.colourOf(mark.lane);
    if (mark.s === 1) return {fill: mark.main ? this.stripesOf(colour) : c.page, stroke: colour, lineWidth: 1.2};
    if (mark.main) return {fill: colour, stroke: c.page, lineWidth: 1};
    return {fill: colour, fillOpacity: mark.events[0].kind === 'slice' ? 0.32 : 0.16, stroke: colour, lineWidth: 1};
  }
  diamond(mark) {
    const r = Math.max(5, this.band / 2);
    const [x, y] = [this.left + (mark.x0 + mark.x1) / 2, mark.y + mark.high / 2];
    return {
      type: 'polygon',
      silent: true,
      shape: {
        points: [
          [x, y - r],
          [x + r, y],
          [x, y + r],
          [x - r, y],
        ],
      },
      style: {fill: this.c.text, stroke: this.c.page, lineWidth: 1},
    };
  }
  mark(mark) {
    const {c, font} = this;
    const [{kind, label, attempt}] = mark.events;
    if (kind === 'fault') return [this.diamond(mark)];
    const x = this.left + mark.x0;
    const width = Math.max(mark.x1 - mark.x0, 2);
    const shapes = [{type: 'rect', silent: true, shape: {x, y: mark.y, width, height: mark.high}, style: this.styleOf(mark)}];
    const text = mark.events.length === 1 && mark.high >= font * 0.95 ? fitting(label, width - 2 * PAD, font) : '';
    if (text) {
      const ground = mark.s === 1 && mark.main ? {backgroundColor: c.page, padding: [0, 2]} : {}; // on stripes one cannot read
      shapes.push(
        this.text(text, x + PAD, mark.y + mark.high / 2, {
          fontWeight: attempt > 0 ? 600 : 400,
          fill: mark.main && mark.s === 0 ? c.page : c.text,
          ...ground,
        }),
      );
    }
    return shapes;
  }
  row(row) {
    return row.head ? this.head(row) : this.lane(row);
  }
  head({head, y, height}) {
    return [this.text(head, 4, y + height / 2, {fontWeight: 700}), this.rule(0, y, this.width, this.c.faint)];
  }
  lane({lane, y, height}) {
    const {c, font, left, band, narrow, stories} = this;
    const line = this.rule(left, y + height, this.width - 4, c.line);
    if (narrow) return [line, this.text(lane.name, left, y + this.title / 2 + 2, {fill: c.faint})];
    const letters =
      stories.length > 1
        ? stories.map(({letter}, s) =>
            this.text(letter, left - 3, y + 3 + band * (s + 0.5), {
              align: 'right',
              fontSize: Math.round(font * 0.8),
              fontWeight: 700,
              fill: c.faint,
            }),
          )
        : [];
    const room = left - (letters.length > 0 ? 18 : 10);
    return [line, this.text(fitting(lane.name, room, font), room + 2, y + height / 2, {align: 'right'}), ...letters];
  }
}
