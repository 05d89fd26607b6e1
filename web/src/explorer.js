// SPDX-License-Identifier: Apache-2.0
// A chart whose metric, axes and kind the reader chooses; what it starts with is what a report asks for.
import {checkbox, el, select} from './dom.js';
import {Figure} from './figure.js';
import {labelOf} from './data.js';
import {metricText} from './format.js';
import {chooseValues, freeAxes, makeCloud, makeLines, pointsAt, standsFor, varying} from './lines.js';
import {barChart, cloud, heatMap, lineChart, stackedBars, tip} from './options.js';
import {measured} from './ratios.js';

const MOST_LINES = 48;
const FIRST_LINES = 8; // as many as there are colours
const MOST_CHOICES = 200; // values of an axis to choose one of
const MOST_BARS = 40; // of a breakdown
const MOST_CELLS = 20000;

/** Many orders of magnitude are shown on a log axis. */
const spreads = (numbers, factor) => {
  let low = Infinity;
  let high = -Infinity;
  for (const v of numbers) {
    if (!Number.isFinite(v)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return low > 0 && high / low > factor;
};

export class Explorer {
  /** `start`: {metrics, metric, x, series, kind, baseline}, all optional; axes and the strategy to compare with by name. */
  constructor(run, filters, name, start = {}) {
    Object.assign(this, {run, filters, name});
    this.set = run.means;
    this.axes = run.axes.filter((axis) => axis.values.length > 1);
    if (this.axes.length === 0) this.axes = [run.axes[0]];
    this.metrics = (start.metrics || run.metrics).filter((metric) => run.metrics.includes(metric));
    this.hasSteps = run.steps.names.length > 0;
    this.state = this.firstState(start);
    this.controls = el('div', {class: 'controls'});
    this.figure = new Figure(name, (c, width) => this.build(c, width));
    this.node = el('div', {class: 'explorer'}, this.controls, this.figure.node);
    filters.onChange(() => this.figure.redraw());
    this.guessLogs();
    this.drawControls();
  }
  firstState(start) {
    const {run} = this;
    const known = (axis) => (this.axes.includes(axis) ? axis : undefined);
    const x = known(run.axisNamed(start.x)) || this.axes.find((axis) => axis.numbers && axis.leads) || this.axes[0];
    let series = start.series === undefined ? undefined : known(run.axisNamed(start.series));
    if (!series || series === x) series = this.axes.find((axis) => axis.leads && axis !== x && !standsFor(x, axis));
    const metric = this.metrics.find((m) => m === start.metric) || this.metrics.find((m) => m.name === 'latency_mean') || this.metrics[0];
    const baseline = start.baseline ? run.axes[0].values.indexOf(start.baseline) : -1;
    const kind = start.kind || (x.numbers ? 'lines' : 'bars');
    return {x, series, metric, kind, baseline: baseline < 0 ? undefined : baseline, logX: false, logY: false,
      at: this.firstValues({x, series, kind})};
  }
  /** What is not on a chart has one value each where lines would be too many to tell apart, or cells means of several points. */
  firstValues(state) {
    const indices = this.filters.indices(this.set);
    if (state.kind === 'heat') return chooseValues(this.run, this.set, indices, [state.x, state.series], [], 1);
    if (!['lines', 'bars'].includes(state.kind)) return new Map();
    return chooseValues(this.run, this.set, indices, [state.x], [state.series].filter(Boolean), FIRST_LINES, MOST_LINES);
  }
  measured() { return measured(this.run, this.set, this.state.metric, this.state.baseline); }
  indices() { return pointsAt(this.set, this.filters.indices(this.set), this.state.at); }
  guessLogs() {
    const {x, metric} = this.state;
    this.state.logX = Boolean(x.numbers) && spreads(x.numbers, 30);
    this.state.logY = Boolean(metric) && spreads(this.measured().values, 50);
  }
  change(changes, guess = false) {
    Object.assign(this.state, changes);
    const {state} = this;
    if (state.series === state.x) state.series = this.axes.find((axis) => axis.leads && !standsFor(state.x, axis));
    if (state.kind === 'lines' && !state.x.numbers) state.kind = 'bars';
    if (state.kind === 'heat' && !state.series) state.kind = state.x.numbers ? 'lines' : 'bars';
    if (guess) this.guessLogs();
    if ('x' in changes || 'series' in changes || 'kind' in changes) state.at = this.firstValues(state);
    this.drawControls();
    this.figure.redraw();
  }
  drawControls() {
    const {state, run} = this;
    const kinds = [['lines', 'Lines', state.x.numbers], ['points', 'Points', true], ['bars', 'Bars', true],
      ['heat', 'Heat map', this.axes.length > 1], ['breakdown', 'Breakdown by step', this.hasSteps]];
    const axes = this.axes.map((axis) => [axis.number, withPartners(this.axes, axis)]);
    const flat = state.kind === 'breakdown';
    this.controls.replaceChildren(...[
      select('Chart', kinds.filter(([, , can]) => can), state.kind, (kind) => this.change({kind})),
      flat ? null : select('Metric', this.metrics.map((m) => [m.number, m.name]), state.metric?.number,
        (m) => this.change({metric: run.metrics[m]}, true)),
      flat ? null : select('x axis', axes, state.x.number, (a) => this.change({
        x: run.axes[a], kind: state.kind === 'bars' && run.axes[a].numbers ? 'lines' : state.kind}, true)),
      flat ? null : select(state.kind === 'heat' ? 'y axis' : 'One line for each', [...(state.kind === 'heat' ? [] : [['', 'all the same']]),
        ...axes.filter(([a]) => a !== state.x.number)], state.series ? state.series.number : '',
      (a) => this.change({series: a === '' ? undefined : run.axes[a]})),
      ...(flat ? [] : this.valueChoices()),
      flat || run.axes[0].values.length < 2 ? null : select('Relative to',
        [['', 'nothing'], ...run.axes[0].values.map((name, v) => [v, name])], state.baseline ?? '',
        (v) => this.change({baseline: v === '' ? undefined : Number(v)}, true)),
      flat || !state.x.numbers || ['bars', 'heat'].includes(state.kind) ? null
        : checkbox('log x', state.logX, (logX) => this.change({logX})),
      flat ? null : checkbox(state.kind === 'heat' ? 'log scale' : 'log y', state.logY, (logY) => this.change({logY})),
    ].filter(Boolean));
  }

  /** For each axis that is not on the chart: all of its values, or one. */
  valueChoices() {
    const {state, set, run} = this;
    const all = this.filters.indices(set);
    return freeAxes(run, set, all, [state.x, state.series].filter(Boolean)).filter((axis) => axis.values.length <= MOST_CHOICES)
      .map((axis) => select(axis.name, [['', 'all'], ...axis.values.map((text, v) => [v, text])], state.at.get(axis.number) ?? '',
        (v) => {
          if (v === '') state.at.delete(axis.number);
          else state.at.set(axis.number, Number(v));
          this.change({});
        }));
  }

  pointTip(i) {
    const {run, set} = this;
    const beside = this.state.baseline === undefined ? null : this.measured();
    const rows = [this.state.metric, ...['latency_mean', 'goodput', 'faults'].map((name) => run.metricNamed(name))]
      .filter((metric, k, list) => metric && list.indexOf(metric) === k)
      .filter((metric) => Number.isFinite(set.metric(metric.number)[i]))
      .map((metric) => [metric.name, metricText(set.metric(metric.number)[i], metric.unit, set.halfWidth(metric.number)[i])
        + (metric.unit === '1' ? '' : ` ${metric.unit}`)]);
    if (beside) rows.unshift([beside.metric.name, metricText(beside.values[i], '1', beside.widths[i])]);
    if (set.json.seeds) rows.push(['seeds', String(set.named('seeds')[i])]);
    return tip(labelOf(run, set, i), rows);
  }

  build(c, width) {
    const indices = this.state.kind === 'breakdown' ? this.filters.indices(this.set) : this.indices();
    if (indices.length === 0) return {empty: 'The filter leaves no points.'};
    const {kind, metric} = this.state;
    if (kind === 'breakdown') return this.breakdown(c, indices, width);
    if (!metric) return {empty: 'No point measured anything.'};
    return kind === 'heat' ? this.heat(c, indices, width) : this.overAxis(c, indices, width);
  }
  overAxis(c, indices, width) {
    const {x, kind, logX, logY} = this.state;
    const state = {...this.state, ...this.measured()};
    const {metric} = state;
    const logs = {logX: logX && kind !== 'bars', logY};
    const keep = (px, py) => (!logs.logX || px > 0) && (!logY || py > 0);
    const made = kind === 'points' ? null : makeLines(this.run, this.set, indices, state, MOST_LINES);
    const chart = made ? this.asLines(c, indices, made, keep, state, width) : this.asCloud(c, indices, keep, state, width);
    if (chart.marks === 0) return {empty: `No point that is shown has ${metric.name}${logY ? ' above 0' : ''}.`};
    const many = (n, what) => (n > 0 ? [`${n.toLocaleString('en')} point${n === 1 ? '' : 's'} ${what}`] : []);
    const chosen = this.chosen(indices);
    return {...chart, title: [`${metric.name} over ${x.name}`, ...chosen].join(', '), note: sentence([
      ...(chosen.length > 0 ? [`at ${chosen.join(', ')}; others can be chosen above`] : []), ...chart.notes,
      ...many(chart.unmeasured, `without ${metric.name} not drawn`), ...many(chart.dropped, 'at 0 or below not drawn on a log axis')])};
  }
  /** "dma.block_timeout = 1 ms": what is the same at all points that are shown because it was chosen. */
  chosen(indices) {
    return [...this.state.at].filter(([a, value]) => this.set.axis(a)[indices[0]] === value)
      .map(([a, value]) => (a === 0 ? '' : `${this.run.axes[a].name} = `) + this.run.axes[a].values[value]);
  }
  options(state, width) { return {...state, width, pointTip: (i) => this.pointTip(i)}; }
  asLines(c, indices, made, keep, state, width) {
    const {x, series, kind} = state;
    let dropped = 0;
    const lines = made.lines.map((line) => ({...line, points: line.points.filter(([px, py]) => {
      const fits = keep(px, py);
      dropped += fits ? 0 : 1;
      return fits;
    })})).filter((line) => line.points.length > 0);
    const also = made.free.map((axis) => axis.name).join(' and ');
    const notes = also && series ? [`several of a colour: ${also} differ${made.free.length > 1 ? '' : 's'}, hover to see or filter`] : [];
    const chart = kind === 'bars' ? barChart(c, lines, {...this.options(state, width), words: wordsOf(this.set, indices, x)})
      : lineChart(c, lines, this.options(state, width));
    return {...chart, notes, dropped, unmeasured: made.unmeasured};
  }
  asCloud(c, indices, keep, state, width) {
    const {kind} = state;
    const {groups, ...counts} = makeCloud(this.set, indices, state, keep);
    const notes = kind === 'points' ? []
      : [`more than ${MOST_LINES} combinations, too many for ${kind === 'bars' ? 'bars' : 'lines'}: shown as points; filter to see fewer`];
    return {...cloud(c, groups, this.options(state, width)), notes, ...counts};
  }
  heat(c, indices, width) {
    const {x, series: y, logY} = this.state;
    const {metric, values} = this.measured();
    const [xs, ys] = [wordsOf(this.set, indices, x), wordsOf(this.set, indices, y)];
    if (xs.length * ys.length > MOST_CELLS) return {empty: `${xs.length} x ${ys.length} cells are too many for a heat map: filter to see fewer.`};
    const [xAt, yAt] = [placesOf(xs), placesOf(ys)];
    const [xColumn, yColumn] = [this.set.axis(x.number), this.set.axis(y.number)];
    const sums = new Map();
    for (const i of indices) {
      if (!Number.isFinite(values[i])) continue;
      const key = xAt.get(xColumn[i]) * ys.length + yAt.get(yColumn[i]);
      const cell = sums.get(key) || [0, 0];
      sums.set(key, [cell[0] + values[i], cell[1] + 1]);
    }
    const cells = [...sums].map(([key, [sum, n]]) => [Math.floor(key / ys.length), key % ys.length, sum / n, n])
      .filter((cell) => !logY || cell[2] > 0);
    if (cells.length === 0) return {empty: `No point that is shown has ${metric.name}${logY ? ' above 0' : ''}.`};
    const free = freeAxes(this.run, this.set, indices, [x, y]);
    const chosen = this.chosen(indices);
    return {...heatMap(c, cells, {x, y, xWords: xs.map((v) => x.values[v]), yWords: ys.map((v) => y.values[v]), metric, logY, width}),
      title: [`${metric.name} over ${x.name} and ${y.name}`, ...chosen].join(', '),
      note: sentence(free.length > 0 ? [`each cell is the mean over ${free.map((axis) => axis.name).join(', ')}; filter to see one value`] : [])};
  }
  breakdown(c, indices, width) {
    const {run} = this;
    const {names, first, step, mean} = run.steps;
    const having = Array.from(indices).filter((i) => first[i + 1] > first[i]);
    if (having.length === 0) return {empty: 'No point that is shown measured a breakdown.'};
    const bars = having.slice(0, MOST_BARS);
    const skip = run.axes.filter((axis) => !varying(run, this.set, having).includes(axis)).map((axis) => axis.number);
    const values = names.map(() => new Array(bars.length).fill(0));
    bars.forEach((i, bar) => {
      for (let row = first[i]; row < first[i + 1]; ++row) values[step[row]][bar] += mean[row];
    });
    const steps = names.map((n, k) => ({name: `${n.step} (${n.where})`, meaning: n.meaning, values: values[k]}))
      .filter((s) => s.values.some((v) => v > 0));
    return {...stackedBars(c, bars.map((i) => labelOf(run, this.set, i, skip)), steps, width), title: 'Time by step',
      note: sentence([...(steps.length > 14 ? ['the legend names the longest steps; hover over the grey ones'] : []),
        ...(having.length > MOST_BARS ? [`the first ${MOST_BARS} of ${having.length.toLocaleString('en')} points; filter to see others`] : [])])};
  }
}

/** "workload.size (with workload.iterations)": what advances with an axis. */
function withPartners(axes, axis) {
  const others = axes.filter((other) => other !== axis && standsFor(axis, other));
  if (others.length === 0) return axis.name;
  return `${axis.name} (with ${others.length > 2 ? `${others.length} others` : others.map((other) => other.name).join(', ')})`;
}

const sentence = (notes) => (notes.length === 0 ? '' : `${notes.join('; ').replace(/^./, (letter) => letter.toUpperCase())}.`);
const placesOf = (words) => new Map(words.map((v, k) => [v, k]));

/** Numbers of the axis's values that stand at `indices`, in the axis's order. */
function wordsOf(set, indices, axis) {
  const there = new Uint8Array(axis.values.length);
  const column = set.axis(axis.number);
  for (const i of indices) there[column[i]] = 1;
  return axis.values.map((_, v) => v).filter((v) => there[v] === 1);
}
