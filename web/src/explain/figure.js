// SPDX-License-Identifier: Apache-2.0
// The lanes as a drawing: who is at work when. What is of an instant (the line, outlines) lies over it, so that a step draws nothing anew.
import {el} from '../dom.js';
import {Figure} from '../figure.js';
import {tickText, timeText} from '../format.js';
import {Drawing, LETTER, tickStep} from './drawing.js';
import {lanesOf, marksOf} from './lanes.js';
import {instantText, us} from './story.js';
import {hideTip, showTip} from './tip.js';

const NARROW = 470; // pixels; lanes are named above their bars
const NEAR = 5; // pixels within which a thin mark is hit
const DRAG = 6;
const rem = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

export class LanesFigure extends Figure {
  /** `chosen(mark's story, time)`: the reader points at something. `words`: of costs; `view`: of the address. */
  constructor(story, words, chosen) {
    super('Lanes: who is at work when', (c, width) => this.buildLanes(c, width));
    Object.assign(this, {story, words, chosen, lanes: lanesOf(story.stories), now: story.begin});
    this.box.setAttribute(
      'aria-label',
      'Who is at work when, as bars on lanes. The list "At work now" has the same of the instant as text.',
    );
    const pad = Math.max(1, Math.round((story.end - story.begin) / 60));
    this.whole = {from: story.begin - pad, to: story.end + pad};
    this.window = this.whole;
    this.line = el('div', {class: 'now-line'});
    this.axis = el('div', {class: 'axis', 'aria-hidden': 'true'}); // stays in sight where the lanes scroll
    this.outlines = el('div', {class: 'outlines'});
    this.drag = el('div', {class: 'drag', hidden: true});
    this.frame = this.box.parentNode;
    this.frame.before(this.axis);
    this.frame.append(el('div', {class: 'overlay', 'aria-hidden': 'true'}, this.outlines, this.line, this.drag));
    this.follow();
  }
  isWhole() {
    return this.window === this.whole;
  }
  zoomTo(window) {
    const length = Math.max(2000, Math.round(window.to - window.from));
    const from = Math.max(this.whole.from, Math.min(this.whole.to - length, Math.round(window.from)));
    this.window = length >= this.whole.to - this.whole.from ? this.whole : {from, to: from + length};
    this.redraw();
    this.windowChanged?.();
  }
  zoomBy(factor, at = this.now) {
    const {from, to} = this.window;
    const share = Math.max(0, Math.min(1, (at - from) / (to - from)));
    const length = (to - from) * factor;
    this.zoomTo({from: at - share * length, to: at + (1 - share) * length});
  }
  /** Another instant: of a part of the time the part moves along with it. */
  showInstant(at) {
    this.now = at;
    const {from, to} = this.window;
    if (!this.isWhole() && (at < from || at > to)) this.zoomTo({from: at - 0.3 * (to - from), to: at + 0.7 * (to - from)});
    this.place();
  }
  x(time) {
    return this.left + ((time - this.window.from) * this.span) / (this.window.to - this.window.from);
  }
  time(x) {
    return this.window.from + ((x - this.left) * (this.window.to - this.window.from)) / this.span;
  }

  buildLanes(c, width) {
    const {stories} = this.story;
    const size = rem();
    const window = c.paper ? this.whole : this.window;
    const font = Math.round((c.paper ? 0.72 : 0.8) * size);
    const narrow = width < (NARROW * size) / 15;
    const longest = Math.max(...this.lanes.map((lane) => lane.name.length)) * font * LETTER + (stories.length > 1 ? 24 : 14);
    this.left = narrow ? 6 : Math.round(Math.min(0.34 * width, longest));
    this.span = width - this.left - 10;
    this.drawn = window;
    const band = Math.round(size * (stories.length > 1 ? 0.95 : 1.25)); // of a story in a lane
    const drawing = new Drawing({c, font, left: this.left, width, band, title: narrow ? Math.round(font * 1.35) : 0, narrow, stories});
    const head = Math.round(font * 2); // of the axis
    this.foot = this.layOut(drawing, head);
    this.axis.style.height = `${head}px`;
    this.axis.style.marginBottom = `${-head}px`;
    const text = (value) => (Math.abs(value) < 1e-9 ? 'post' : tickText(Number(value.toPrecision(6)), 'us'));
    this.ticks = {step: tickStep(us(window.to - window.from), Math.max(2, Math.floor(this.span / (font * 6.5)))), font, text};
    const drawn = (list, shapesOf) => ({
      type: 'custom',
      coordinateSystem: 'cartesian2d',
      animation: false,
      silent: true,
      data: list.map((_, i) => [us(window.from), 0, i]),
      renderItem: ({coordSys}, api) => ({type: 'group', silent: true, y: coordSys.y - head, children: shapesOf(list[api.value(2)])}),
    });
    const option = {
      animation: false,
      tooltip: {show: false},
      title: [],
      backgroundColor: 'transparent',
      grid: [{left: this.left, right: 10, top: head, bottom: 4}],
      xAxis: {
        type: 'value',
        position: 'top',
        min: us(window.from),
        max: us(window.to),
        interval: this.ticks.step,
        axisLabel: {formatter: text, color: c.faint, fontSize: font, hideOverlap: true, showMinLabel: false, showMaxLabel: false},
        axisLine: {onZero: false, lineStyle: {color: c.faint}},
        splitLine: {lineStyle: {color: c.line, type: 'dotted'}},
      },
      yAxis: {type: 'value', show: false, min: 0, max: 1, axisLine: {onZero: false}},
      series: [drawn(this.rows, (row) => drawing.row(row)), drawn(this.marks, (mark) => drawing.mark(mark))],
    };
    return {title: this.story.title, option, marks: this.marks.length, height: this.foot + 4, still: true, note: ''};
  }
  /** Gives rows and marks their places from `y` on; gives where they end. */
  layOut({font, band, title, stories}, y) {
    this.marks = [];
    this.rows = [];
    let node = null;
    for (const lane of this.lanes) {
      if (lane.node !== node) {
        node = lane.node;
        const ends = stories[0].endsAt(node);
        const head = `${lane.router ? 'router' : 'node'} ${node}${ends.length > 0 ? `: the ${ends.join(' and the ')}` : ''}`;
        this.rows.push({y, height: Math.round(font * 1.7), head});
        y += Math.round(font * 1.7);
      }
      const height = title + band * stories.length + 6;
      this.rows.push({y, height, lane});
      lane.events.forEach((events, s) => {
        const high = (band - 1) / lane.rows[s];
        for (const mark of marksOf(events, this.drawn, this.span)) {
          this.marks.push(Object.assign(mark, {lane, s, y: y + title + 3 + band * s + mark.row * high, high: Math.max(2, high - 1)}));
        }
      });
      y += height;
    }
    return y;
  }
  draw() {
    super.draw();
    const {step, font, text} = this.ticks;
    const [from, to] = [us(this.drawn.from), us(this.drawn.to)];
    const first = Math.ceil(from / step);
    this.axis.style.fontSize = `${font}px`;
    this.clock = el('b', {});
    this.axis.replaceChildren(
      ...Array.from({length: Math.max(0, Math.floor(to / step) - first + 1)}, (_, i) => (first + i) * step).map((value) =>
        el('span', {style: `left:${this.left + ((value - from) * this.span) / (to - from)}px`}, text(value)),
      ),
      this.clock,
    );
    this.place();
  }
  /** Puts the line and the outlines where they belong. */
  place() {
    if (!this.marks) return;
    const x = this.x(this.now);
    const inside = this.now >= this.window.from && this.now <= this.window.to;
    this.line.hidden = !inside;
    this.line.style.transform = `translateX(${x}px)`;
    this.line.style.height = `${this.foot}px`;
    this.clock.hidden = !inside;
    this.clock.style.left = `${x}px`;
    this.clock.classList.toggle('left', x > this.left + this.span * 0.8);
    this.clock.classList.toggle('right', x < this.left + this.span * 0.1);
    this.clock.textContent = instantText(this.now);
    const active = new Set(this.story.stories.flatMap((story) => story.atWork(this.now)));
    this.outlines.replaceChildren(
      ...this.marks
        .filter((mark) => mark.events.some((event) => active.has(event)))
        .map((mark) =>
          el('div', {
            style: `left:${this.left + mark.x0 - 2}px;top:${mark.y - 2}px;width:${Math.max(2, mark.x1 - mark.x0) + 4}px;height:${mark.high + 4}px`,
          }),
        ),
    );
  }
  /** Where the events are that the sentence of the instant tells of: [top, bottom] of one, or null. */
  told() {
    const mark = (this.marks ?? []).find((each) =>
      each.events.some((event) => (event.main || event.kind === 'fault') && event.to === this.now),
    );
    return mark ? [mark.y, mark.y + mark.high] : null;
  }
  markAt(x, y) {
    let best = null;
    let least = NEAR + 0.5;
    for (const mark of this.marks ?? []) {
      if (y < mark.y - 1 || y > mark.y + mark.high + 1) continue;
      const distance = Math.max(this.left + mark.x0 - x, x - this.left - mark.x1, 0);
      if (distance < least) [best, least] = [mark, distance];
    }
    return best;
  }
  tipOf(mark) {
    const {stories} = this.story;
    const [event] = mark.events;
    const whose = stories.length > 1 ? ` (${stories[mark.s].letter}: ${stories[mark.s].strategy})` : '';
    const place = `${mark.lane.router ? 'router' : 'node'} ${mark.lane.node}, ${mark.lane.name}${whose}`;
    if (mark.events.length > 1) {
      const last = mark.events[mark.events.length - 1];
      return [
        el('strong', {}, `${mark.events.length} in a row: ${event.label} … ${last.label}`),
        el('p', {}, place),
        el('p', {}, 'Zoom in to see each.'),
      ];
    }
    const when =
      event.from === event.to
        ? instantText(event.from)
        : `${instantText(event.from)} to ${instantText(event.to)}: ${timeText(us(event.to - event.from))}`;
    return [
      el('strong', {}, event.label),
      el('p', {}, place),
      el('p', {}, when),
      event.part !== undefined
        ? el(
            'p',
            {},
            `block ${event.part}${event.attempt > 0 ? `, sent for the ${event.attempt + 1}. time` : ''}${event.main ? '; it decides the time' : ''}`,
          )
        : null,
      el('p', {}, event.kind === 'slice' ? `Kind of work: ${event.text}.` : event.text),
      ...(event.cost ?? []).flatMap((cost) => this.words.costTip(cost)),
    ].filter(Boolean);
  }
  /** The pointer: tells, jumps, and zooms where it is dragged. */
  follow() {
    let down = null;
    const placeOf = (event) => {
      const box = this.frame.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.frame.addEventListener('pointerdown', (event) => {
      if (event.button === 0) down = placeOf(event);
    });
    this.frame.addEventListener('pointermove', (event) => {
      const [x, y] = placeOf(event);
      if (down && event.pointerType === 'mouse' && Math.abs(x - down[0]) > DRAG) {
        this.drag.hidden = false;
        Object.assign(this.drag.style, {left: `${Math.min(x, down[0])}px`, width: `${Math.abs(x - down[0])}px`, height: `${this.foot}px`});
        return hideTip();
      }
      const mark = this.markAt(x, y);
      if (mark) showTip(this.tipOf(mark), {left: event.clientX + 12, top: event.clientY, bottom: event.clientY + 8});
      else hideTip();
      return undefined;
    });
    const leave = (event) => {
      if (event.pointerType === 'mouse') hideTip(); // a finger has left when it is lifted
      down = null;
      this.drag.hidden = true;
    };
    this.frame.addEventListener('pointerleave', leave);
    this.frame.addEventListener('pointercancel', leave);
    this.frame.addEventListener('pointerup', (event) => {
      const [x, y] = placeOf(event);
      const from = down;
      const dragged = !this.drag.hidden;
      down = null;
      this.drag.hidden = true;
      if (!from || event.button !== 0) return;
      if (dragged) {
        this.zoomTo({from: this.time(Math.min(x, from[0])), to: this.time(Math.max(x, from[0]))});
        return;
      }
      const mark = this.markAt(x, y);
      if (mark) this.chosen(mark.events[0].kind === 'step' ? mark.events[0].to : mark.events[0].from);
      else if (x >= this.left) this.chosen(this.time(x));
      if (mark && event.pointerType !== 'mouse')
        showTip(this.tipOf(mark), {left: event.clientX, top: event.clientY - 8, bottom: event.clientY + 16});
    });
    this.frame.addEventListener('dblclick', () => this.zoomTo(this.whole));
    this.frame.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, this.time(placeOf(event)[0]));
      },
      {passive: false},
    );
  }
}
