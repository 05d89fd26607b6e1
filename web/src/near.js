// SPDX-License-Identifier: Apache-2.0
// What is told under the pointer anywhere near a line: the point of that line that is nearest.

const REACH = 40; // pixels

/** Pixels of an axis's values: linear, logarithmic or by number of a category. */
function scaleOf(chart, finder, values, log) {
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const pixel = (v) => chart.convertToPixel(finder, v);
  const f = log ? Math.log : (v) => v;
  const [a, b] = [pixel(low), pixel(high)];
  return low === high ? () => a : (v) => a + (b - a) * (f(v) - f(low)) / (f(high) - f(low));
}

/** Squared distance of a point to a piece of a line. */
function toPiece(px, py, ax, ay, bx, by) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length > 0 ? Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / length)) : 0;
  return (px - ax - t * dx) ** 2 + (py - ay - t * dy) ** 2;
}

/** `near`: {logX, logY, joined, lines: [{name, shift, points: [[x, y, i]...]}]}. Places on the screen until the chart changes. */
function placesOn(chart, near) {
  const all = near.lines.flatMap((line) => line.points);
  const x = scaleOf(chart, {xAxisIndex: 0}, all.map((p) => p[0]), near.logX);
  const y = scaleOf(chart, {yAxisIndex: 0}, all.map((p) => p[1]), near.logY);
  return near.lines.map((line) => ({...line, places: line.points.map((p) => [x(p[0]) + (line.shift || 0), y(p[1]), p[2]])}));
}

function nearest(lines, joined, px, py) {
  let best = null;
  let least = REACH * REACH;
  for (const line of lines) {
    const {places} = line;
    for (let k = 0; k < places.length; ++k) {
      const [x, y] = places[k];
      const distance = joined && k + 1 < places.length ? toPiece(px, py, x, y, places[k + 1][0], places[k + 1][1]) : (px - x) ** 2 + (py - y) ** 2;
      if (distance > least) continue;
      const last = joined && k + 1 < places.length && (px - x) ** 2 + (py - y) ** 2 > (px - places[k + 1][0]) ** 2 + (py - places[k + 1][1]) ** 2;
      if (distance < least || best === null) best = places[last ? k + 1 : k];
      least = distance;
    }
  }
  return best;
}

/** Keeps a tip and a ring over a chart. `current()`: {near, tipOf(i), hidden: names} of what is drawn, or null. */
export class NearestTip {
  constructor(frame, current) {
    Object.assign(this, {frame, current});
    this.tip = Object.assign(document.createElement('div'), {className: 'near-tip', hidden: true});
    this.ring = Object.assign(document.createElement('div'), {className: 'near-ring', hidden: true});
    this.tip.setAttribute('role', 'status');
    frame.append(this.ring, this.tip);
  }
  follow(chart) {
    this.chart = chart;
    const show = (event) => this.show(event.offsetX, event.offsetY);
    chart.getZr().on('mousemove', show);
    chart.getZr().on('click', show);
    chart.getZr().on('globalout', () => this.hide());
    chart.on('datazoom', () => this.forget());
  }
  /** What was drawn is drawn no more. */
  forget() { this.places = null; this.hide(); }
  hide() { this.tip.hidden = true; this.ring.hidden = true; this.at = null; }
  show(px, py) {
    const now = this.current();
    if (!now || !this.chart.containPixel('grid', [px, py])) { this.hide(); return; }
    this.places ??= placesOn(this.chart, now.near);
    const found = nearest(this.places.filter((line) => !now.hidden.has(line.name)), now.near.joined, px, py);
    if (!found) { this.hide(); return; }
    const [x, y, i] = found;
    if (this.at !== i) this.tip.innerHTML = now.tipOf(i);
    this.at = i;
    this.tip.hidden = this.ring.hidden = false;
    Object.assign(this.ring.style, {left: `${x}px`, top: `${y}px`});
    const {clientWidth: wide, clientHeight: high} = this.frame;
    const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const left = x + 14 + w <= wide ? x + 14 : Math.max(0, x - 14 - w);
    const top = Math.max(0, Math.min(high - h, y - h / 2));
    Object.assign(this.tip.style, {left: `${left}px`, top: `${top}px`});
  }
}
