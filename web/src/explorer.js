// SPDX-License-Identifier: Apache-2.0
// A chart whose metric, axes and kind the reader chooses; what it starts with is what a report asks for.
import {checkbox, el, select} from './dom.js';
import {Figure} from './figure.js';
import {failedText, labelOf} from './data.js';
import {quantityText} from './format.js';
import {chooseValues, coincident, freeAxes, makeCloud, makeLines, pointsAt, standsFor, varying} from './lines.js';
import {barChart, base, cloud, heatMap, lineChart, tip} from './options.js';
import {measured} from './ratios.js';
import {sectionOf} from './view.js';
import {rowsOf, waterfalls} from './waterfall.js';

const MOST_LINES = 48;
const FIRST_LINES = 8;
const MOST_CHOICES = 200; // values of an axis to choose one of
const MOST_WATERFALLS = 8;
const FIRST_WATERFALLS = 4;
const MOST_NAMED = 6; // points with failed transfers
const MOST_CELLS = 20000;

/** Many orders of magnitude are shown on a log axis; values of 0 stand at its foot. */
const spreads = (numbers, factor) => {
  let low = Infinity;
  let high = -Infinity;
  for (const v of numbers) {
    if (!Number.isFinite(v)) continue;
    if (v < 0) return false;
    if (v > 0 && v < low) low = v;
    if (v > high) high = v;
  }
  return high / low > factor;
};
/** Where a log axis ends that has values of 0, or intervals that reach there: a power below all others. */
function footOf(numbers, unit) {
  const low = numbers.reduce((least, v) => (v > 0 && v < least ? v : least), Infinity);
  return unit === 'B' ? 2 ** (Math.floor(Math.log2(low)) - 2) : 10 ** (Math.ceil(Math.log10(low)) - 1);
}

/** A point's value of what measured() gives, with what is lost of it. */
const told = ({metric, values, widths, lost}, i, value = values[i]) =>
  [quantityText(value, metric.unit, widths[i]), lost([i])].filter(Boolean).join(', ');

export class Explorer {
  /** `start`: {metrics, metric, x, series, kind, baseline}, all optional; axes and the strategy to compare with by name. */
  constructor(run, filters, view, id, name, start = {}) {
    Object.assign(this, {run, filters, view, name, start});
    this.set = run.means;
    this.axes = run.axes.filter((axis) => axis.values.length > 1);
    if (this.axes.length === 0) this.axes = [run.axes[0]];
    this.metrics = (start.metrics || run.metrics).filter((metric) => run.metrics.includes(metric));
    this.hasSteps = run.steps.names.length > 0;
    this.state = this.firstState(start);
    this.controls = el('div', {class: 'controls'});
    this.figure = new Figure(name, (c, width) => this.build(c, width), () => this.chosenHere());
    this.node = el('div', {class: 'explorer'}, this.controls, this.figure.node);
    filters.onChange(() => {
      this.place();
      this.drawControls();
      this.figure.redraw();
    });
    this.place();
    this.drawControls();
    view.add(id, () => this.viewed(), (pairs) => this.restore(pairs));
  }
  chosenHere() { this.view.changed(sectionOf(this.node)); }
  /** For the page's address: what differs from how the chart begins, or from what its choices would make of the rest. */
  viewed() {
    const first = this.firstState(this.start);
    const {state} = this;
    const none = (axis) => (axis ? axis.name : '-');
    const pairs = [['chart', state.kind, first.kind], ['metric', state.metric?.name, first.metric?.name],
      ['x', none(state.x), none(first.x)], ['by', none(state.series), none(first.series)],
      ['beside', this.run.axes[0].values[state.baseline] ?? '-', this.run.axes[0].values[first.baseline] ?? '-']];
    const found = pairs.filter(([, now, then]) => now !== then).map(([key, now]) => [key, now]);
    for (const [key, log] of Object.entries(state.logs)) found.push([key.toLowerCase(), log ? 'yes' : 'no']);
    for (const [a, value] of state.own) found.push([`at.${this.run.axes[a].name}`, value === null ? '*' : this.run.axes[a].values[value]]);
    return [...found, ...[...this.figure.hidden].map((name) => ['off', name])];
  }
  restore(pairs) {
    const of = (key) => pairs.find(([k]) => k === key)?.[1];
    const {run} = this;
    const axis = (name) => this.axes.find((each) => each.name === name);
    const state = this.firstState(this.start);
    state.metric = this.metrics.find((m) => m.name === of('metric')) || state.metric;
    state.x = axis(of('x')) || state.x;
    if (of('by') === '-') state.series = undefined;
    else state.series = axis(of('by')) || state.series;
    if (of('beside') === '-') state.baseline = undefined;
    else if (run.axes[0].values.includes(of('beside'))) state.baseline = run.axes[0].values.indexOf(of('beside'));
    if (this.kinds(state).some(([kind, , can]) => kind === of('chart') && can)) state.kind = of('chart');
    this.state = state;
    this.settle();
    for (const [key, log] of [['logx', 'logX'], ['logy', 'logY']]) if (['yes', 'no'].includes(of(key))) state.logs[log] = of(key) === 'yes';
    for (const each of this.axes) {
      const value = of(`at.${each.name}`);
      if (value === '*') state.own.set(each.number, null);
      else if (each.values.includes(value)) state.own.set(each.number, each.values.indexOf(value));
    }
    this.place();
    this.figure.hidden = new Set(pairs.filter(([key]) => key === 'off').map(([, name]) => name));
    this.drawControls();
    this.figure.redraw();
  }
  firstState(start) {
    const {run} = this;
    const known = (axis) => (this.axes.includes(axis) ? axis : undefined);
    const x = known(run.axisNamed(start.x)) || this.axes.find((axis) => axis.numbers && axis.leads)
      || this.axes.find((axis) => axis.number !== 0 && axis.leads) || this.axes[0]; // strategies are series, in their own colours
    let series = start.series === undefined ? undefined : known(run.axisNamed(start.series));
    if (!series || series === x) series = this.axes.find((axis) => axis.leads && axis !== x && !standsFor(x, axis));
    const metric = this.metrics.find((m) => m === start.metric) || this.metrics.find((m) => m.name === 'latency_mean') || this.metrics[0];
    const baseline = start.baseline ? run.axes[0].values.indexOf(start.baseline) : -1;
    const kind = start.kind || (x.numbers ? 'lines' : 'bars');
    return {x, series, metric, kind, baseline: baseline < 0 ? undefined : baseline, logX: false, logY: false, logs: {},
      own: new Map(), at: new Map()};
  }
  /** Values of axes that are not on the chart: those that the reader chose, of the others what firstValues() says. */
  place() {
    const {state} = this;
    state.at = this.firstValues(state);
    for (const [axis, value] of state.own) {
      if (value === null) state.at.delete(axis);
      else state.at.set(axis, value);
    }
    Object.assign(state, this.guessedLogs(), state.logs);
  }
  /** What is not on a chart has one value each where lines would be too many to tell apart, or cells means of several points. */
  firstValues(state) {
    const indices = this.filters.indices(this.set);
    if (state.kind === 'heat') return chooseValues(this.run, this.set, indices, [state.x, state.series], [], 1);
    if (state.kind === 'breakdown') return chooseValues(this.run, this.set, this.timed(indices), [], [], FIRST_WATERFALLS, Infinity, [this.run.axes[0]]);
    if (!['lines', 'bars'].includes(state.kind)) return new Map();
    return chooseValues(this.run, this.set, indices, [state.x], [state.series].filter(Boolean), FIRST_LINES, MOST_LINES);
  }
  measured() { return measured(this.run, this.set, this.state.metric, this.state.baseline); }
  indices() { return pointsAt(this.set, this.filters.indices(this.set), this.state.at); }
  /** Those that measured a breakdown. */
  timed(indices) { return Array.from(indices).filter((i) => this.run.steps.first[i + 1] > this.run.steps.first[i]); }
  guessedLogs() {
    const {x, metric} = this.state;
    if (!metric) return {logX: false, logY: false};
    const {values} = this.measured();
    const indices = this.indices();
    return {logX: Boolean(x.numbers) && spreads(x.numbers, 30), logY: spreads(Float64Array.from(indices, (i) => values[i]), 50)};
  }
  change(changes, guess = false) {
    Object.assign(this.state, changes);
    this.settle();
    if (guess) this.state.logs = {};
    if ('x' in changes || 'series' in changes || 'kind' in changes) this.state.own.clear();
    this.place();
    this.figure.hidden.clear();
    this.drawControls();
    this.figure.redraw();
    this.chosenHere();
  }
  /** What does not go together. */
  settle() {
    const {state} = this;
    if (state.series === state.x) state.series = this.axes.find((axis) => axis.leads && !standsFor(state.x, axis));
    if (state.kind === 'lines' && !state.x.numbers) state.kind = 'bars';
    if (state.kind === 'heat' && !state.series) state.kind = state.x.numbers ? 'lines' : 'bars';
  }
  kinds(state) {
    return [['lines', 'Lines', Boolean(state.x.numbers)], ['points', 'Points', true], ['bars', 'Bars', true],
      ['heat', 'Heat map', this.axes.length > 1], ['breakdown', 'Breakdown by step', this.hasSteps]];
  }
  drawControls() {
    const {state, run} = this;
    const axes = this.axes.map((axis) => [axis.number, withPartners(this.axes, axis)]);
    const flat = state.kind === 'breakdown';
    this.controls.replaceChildren(...[
      select('Chart', this.kinds(state).filter(([, , can]) => can), state.kind, (kind) => this.change({kind})),
      flat ? null : select('Metric', this.metrics.map((m) => [m.number, m.name]), state.metric?.number,
        (m) => this.change({metric: run.metrics[m]}, true)),
      flat ? null : select('x axis', axes, state.x.number, (a) => this.change({
        x: run.axes[a], kind: state.kind === 'bars' && run.axes[a].numbers ? 'lines' : state.kind}, true)),
      flat ? null : select(state.kind === 'heat' ? 'y axis' : 'One line for each', [...(state.kind === 'heat' ? [] : [['', 'all the same']]),
        ...axes.filter(([a]) => a !== state.x.number)], state.series ? state.series.number : '',
      (a) => this.change({series: a === '' ? undefined : run.axes[a]})),
      ...this.valueChoices(),
      flat || run.axes[0].values.length < 2 ? null : select('Relative to',
        [['', 'nothing'], ...run.axes[0].values.map((name, v) => [v, name])], state.baseline ?? '',
        (v) => this.change({baseline: v === '' ? undefined : Number(v)}, true)),
      flat || !state.x.numbers || ['bars', 'heat'].includes(state.kind) ? null
        : checkbox('log x', state.logX, (logX) => this.change({logs: {...state.logs, logX}})),
      flat ? null : checkbox(state.kind === 'heat' ? 'log scale' : 'log y', state.logY, (logY) => this.change({logs: {...state.logs, logY}})),
    ].filter(Boolean));
  }

  /** For each axis that is not on the chart: all of its values, or one. */
  valueChoices() {
    const {state, set, run} = this;
    const all = state.kind === 'breakdown' ? this.timed(this.filters.indices(set)) : this.filters.indices(set);
    return freeAxes(run, set, all, state.kind === 'breakdown' ? [] : [state.x, state.series].filter(Boolean)).filter((axis) => axis.values.length <= MOST_CHOICES)
      .map((axis) => select(axis.name, [['', 'all'], ...axis.texts.map((text, v) => [v, text])], state.at.get(axis.number) ?? '',
        (v) => {
          state.own.set(axis.number, v === '' ? null : Number(v));
          this.change({});
        }));
  }

  pointTip(i) {
    const {run, set} = this;
    const beside = this.state.baseline === undefined ? null : this.measured();
    const rows = [this.state.metric, ...['latency_mean', 'goodput', 'faults'].map((name) => run.metricNamed(name))]
      .filter((metric, k, list) => metric && list.indexOf(metric) === k)
      .filter((metric) => Number.isFinite(set.metric(metric.number)[i]))
      .map((metric) => [metric.name, told(measured(run, set, metric), i)]);
    if (beside) rows.unshift([beside.metric.name, told(beside, i)]);
    if (set.json.seeds) rows.push(['seeds', String(set.named('seeds')[i])]);
    return tip(labelOf(run, set, i), rows);
  }

  build(c, width) {
    const indices = this.indices();
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
    const own = Array.from(indices, (i) => state.values[i]);
    state.floor = logY ? footOf(own, metric.unit) : -Infinity;
    const foot = logY && state.floor < Infinity && own.includes(0) ? state.floor : undefined;
    const keep = (px, py) => (!logs.logX || px > 0) && (!logY || py >= 0);
    state.foot = foot;
    if (foot !== undefined) state.values = state.values.map((v) => (v === 0 ? foot : v));
    const made = kind === 'points' ? null : makeLines(this.run, this.set, indices, state, MOST_LINES);
    const chart = made ? this.asLines(c, indices, made, keep, state, width) : this.asCloud(c, indices, keep, state, width);
    if (chart.marks === 0) return {empty: `No point that is shown has ${metric.name}${logY ? ' above 0' : ''}.`};
    const lost = Array.from(indices).filter((i) => Number.isFinite(state.values[i]) && state.lost([i]));
    const many = (n, what) => (n > 0 ? [`${n.toLocaleString('en')} point${n === 1 ? '' : 's'} ${what}`] : []);
    const chosen = this.chosen(indices);
    const tips = (i) => this.pointTip(i);
    return {...chart, tips, title: [`${metric.name} over ${x.name}`, ...chosen].join(', '), note: sentence([
      ...(chosen.length > 0 ? [`at ${chosen.join(', ')}; others can be chosen above`] : []), ...this.losses(lost, state.lost), ...chart.notes,
      ...many(chart.unmeasured, `without ${metric.name} not drawn${this.whyMissing(indices, state.values)}`),
      ...many(chart.dropped, `${foot === undefined ? 'at 0 or below' : 'below 0'} not drawn on a log axis`),
      ...(foot === undefined ? [] : ['values of 0 stand at the foot of the log axis']),
      ...(kind === 'bars' && logY ? ['markers, because a bar has no length on a log axis'] : [])])};
  }
  /** What hollow marks mean, and how many transfers failed at which points. */
  losses(lost, textOf) {
    if (lost.length === 0) return [];
    const named = lost.slice(0, MOST_NAMED).map((i) => `${labelOf(this.run, this.set, i)}: ${textOf([i])}`);
    return [`hollow: transfers failed or seeds have no result, and are in no value (${named.join('; ')}${lost.length > MOST_NAMED ? `; and ${lost.length - MOST_NAMED} more points` : ''})`];
  }
  /** " (refused, timed out)": of the points without a value. */
  whyMissing(indices, values) {
    const status = this.set.named('status');
    const reasons = new Set(Array.from(indices).filter((i) => !Number.isFinite(values[i])).map((i) => this.run.statuses[status[i]]));
    reasons.delete('complete');
    return reasons.size > 0 ? ` (${[...reasons].join(', ')})` : '';
  }
  /** "exanest.block_timeout = 1 ms": what is the same at all points that are shown because it was chosen. */
  chosen(indices) {
    return [...this.state.at].filter(([a, value]) => this.set.axis(a)[indices[0]] === value)
      .map(([a, value]) => (a === 0 ? '' : `${this.run.axes[a].name} = `) + this.run.axes[a].texts[value]);
  }
  options(state, width) {
    return {...state, width, pointTip: (i) => this.pointTip(i),
      quantity: (i) => told(state, i, state.values[i] === state.foot ? 0 : state.values[i])};
  }
  asLines(c, indices, made, keep, state, width) {
    const {x, series, kind} = state;
    let dropped = 0;
    const lines = made.lines.map((line) => ({...line, points: line.points.filter(([px, py]) => {
      const fits = keep(px, py);
      dropped += fits ? 0 : 1;
      return fits;
    })})).filter((line) => line.points.length > 0);
    const also = made.free.map((axis) => axis.name).join(' and ');
    const notes = !also || !series ? [] : kind === 'lines' ? [`dashes tell ${also} apart`]
      : [`below each ${x.name}: ${also}`];
    if (kind === 'lines' && made.variants.length < 2) notes.push(...coincident(lines).map((names) => `on top of each other: ${names}`));
    const options = {...this.options(state, width), variants: made.variants};
    const chart = kind === 'bars' ? barChart(c, lines, {...options, words: wordsOf(this.set, indices, x)}) : lineChart(c, lines, options);
    return {...chart, notes, dropped, unmeasured: made.unmeasured};
  }
  asCloud(c, indices, keep, state, width) {
    const {kind} = state;
    const {groups, ...counts} = makeCloud(this.set, indices, state, keep);
    const notes = kind === 'points' ? []
      : [`more than ${MOST_LINES} combinations, too many for ${kind === 'bars' ? 'bars' : 'lines'} (or more of a colour than dashes tell apart): shown as points; filter to see fewer`];
    return {...cloud(c, groups, this.options(state, width)), notes, ...counts};
  }
  heat(c, indices, width) {
    const {x, series: y, logY} = this.state;
    const {metric, values, lost} = this.measured();
    const [xs, ys] = [wordsOf(this.set, indices, x), wordsOf(this.set, indices, y)];
    if (xs.length * ys.length > MOST_CELLS) return {empty: `${xs.length} x ${ys.length} cells are too many for a heat map: filter to see fewer.`};
    const [xAt, yAt] = [placesOf(xs), placesOf(ys)];
    const [xColumn, yColumn] = [this.set.axis(x.number), this.set.axis(y.number)];
    const members = new Map();
    for (const i of indices) {
      if (!Number.isFinite(values[i])) continue;
      const key = xAt.get(xColumn[i]) * ys.length + yAt.get(yColumn[i]);
      if (!members.has(key)) members.set(key, []);
      members.get(key).push(i);
    }
    const cells = [...members].map(([key, who]) => [Math.floor(key / ys.length), key % ys.length,
      who.reduce((sum, i) => sum + values[i], 0) / who.length, who.length, lost(who)]).filter((cell) => !logY || cell[2] > 0);
    if (cells.length === 0) return {empty: `No point that is shown has ${metric.name}${logY ? ' above 0' : ''}.`};
    const free = freeAxes(this.run, this.set, indices, [x, y]);
    const chosen = this.chosen(indices);
    return {...heatMap(c, cells, {x, y, xWords: xs.map((v) => x.texts[v]), yWords: ys.map((v) => y.texts[v]), metric, logY, width}),
      title: [`${metric.name} over ${x.name} and ${y.name}`, ...chosen].join(', '),
      note: sentence(free.length > 0 ? [`each cell is the mean over ${free.map((axis) => axis.name).join(', ')}; filter to see one value`] : [])};
  }
  breakdown(c, indices, width) {
    const {run} = this;
    const having = this.timed(indices);
    if (having.length === 0) return {empty: 'No point that is shown measured a breakdown.'};
    const seen = having.slice(0, MOST_WATERFALLS);
    const skip = run.axes.filter((axis) => !varying(run, this.set, having).includes(axis)).map((axis) => axis.number);
    const panels = seen.map((i) => {
      const rows = rowsOf(run, i);
      const total = rows.reduce((sum, row) => sum + row.time, 0);
      const failed = failedText(this.set, [i]);
      return {rows, total, title: `${labelOf(run, this.set, i, skip)}: ${quantityText(total, 'us')} in all${failed ? `; ${failed}, not in it` : ''}`};
    });
    const made = waterfalls(c, base(c), panels, width);
    const chosen = this.chosen(indices);
    return {...made, title: ['Time by step', ...chosen].join(', '),
      note: sentence([...(chosen.length > 0 ? [`at ${chosen.join(', ')}; others can be chosen above`] : []),
        'blue: at the source; orange: at the destination', ...(made.own ? ['each has its own scale'] : []),
        ...(having.length > MOST_WATERFALLS ? [`the first ${MOST_WATERFALLS} of ${having.length.toLocaleString('en')} points; filter to see others`] : [])])};
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
