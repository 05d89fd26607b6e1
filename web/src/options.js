// SPDX-License-Identifier: Apache-2.0
// ECharts options of the kinds of charts.
import {lookOf} from './data.js';
import {metricText, tickText, withUnit} from './format.js';
import {HEAT} from './theme.js';

// Without quotes, which ECharts would write unescaped into an attribute of an SVG file.
const FONT = 'system-ui, -apple-system, Roboto, Helvetica, Arial, sans-serif';
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle', 'emptyRect', 'emptyTriangle', 'emptyDiamond'];
const DASHES = ['solid', 'dashed', 'dotted', [8, 3, 2, 3], [14, 4], [2, 5], [8, 3, 2, 3, 2, 3]];

const withUnitText = (value, unit) => `${metricText(value, unit)}${unit === '1' ? '' : ` ${unit}`}`;
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
export const tip = (head, rows) => `<b>${escape(head)}</b>${rows.map(([name, value]) =>
  `<div class="tip"><span>${escape(name)}</span><b>${escape(value)}</b></div>`).join('')}`;

export function base(c) {
  return {
    animation: false, backgroundColor: 'transparent', color: c.series,
    textStyle: {fontFamily: FONT, color: c.text},
    grid: {left: 12, right: 24, top: 44, bottom: 36, containLabel: true},
    tooltip: {trigger: 'item', confine: true, backgroundColor: c.page, borderColor: c.line,
      textStyle: {color: c.text, fontSize: 12, fontFamily: FONT}},
  };
}

const LEGEND_ROW = 24;
const MOST_ROWS = 7; // of a legend; a longer one is paged

/** Base with a legend above the chart; `names` of several series. */
function withLegend(c, all, width) {
  const names = [...new Set(all)];
  const option = base(c);
  if (names.length < 2) return {...option, grid: {...option.grid, top: 34}};
  let rows = 1;
  let at = 0;
  for (const name of names) {
    const needed = 46 + 6.4 * name.length;
    if (at > 0 && at + needed > width - 16) { ++rows; at = 0; }
    at += needed;
  }
  const paged = rows > MOST_ROWS;
  return {...option, grid: {...option.grid, top: 40 + LEGEND_ROW * (paged ? 1 : rows)},
    legend: {type: paged ? 'scroll' : 'plain', top: 0, left: 8, right: 8, data: names, textStyle: {color: c.text}, itemGap: 12,
      pageTextStyle: {color: c.text}, pageIconColor: c.text, pageIconInactiveColor: c.line, inactiveColor: c.faint}};
}
const legendHeight = (option) => option.grid.top - 34;

const axisInk = (c) => ({
  nameTextStyle: {color: c.text, fontWeight: 600}, axisLine: {show: true, lineStyle: {color: c.faint}},
  axisTick: {lineStyle: {color: c.faint}}, axisLabel: {color: c.faint, hideOverlap: true},
  splitLine: {show: true, lineStyle: {color: c.line, opacity: 0.6}}, minorSplitLine: {show: false},
});

/** A horizontal axis is as long as its values, and has its ticks where they are when they are few. */
function ends(numbers, log) {
  const sorted = [...new Set(numbers)].filter((v) => Number.isFinite(v) && (!log || v > 0)).sort((a, b) => a - b);
  if (sorted.length < 2) return {};
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const gap = log ? (high / low) ** 0.03 : (high - low) * 0.03;
  const few = sorted.length <= 14;
  return {min: log ? low / gap : low - gap, max: log ? high * gap : high + gap,
    ...(few ? {axisTick: {customValues: sorted}, axisLabel: {customValues: sorted}} : {})};
}
function overNumbers(c, x, log) {
  const axis = numberAxis(c, x.name, x.unit, log);
  const own = ends(x.numbers, log);
  return {...axis, ...own, axisTick: {...axis.axisTick, ...own.axisTick},
    axisLabel: {...axis.axisLabel, showMinLabel: Boolean(own.axisLabel), showMaxLabel: Boolean(own.axisLabel), ...own.axisLabel},
    splitLine: {...axis.splitLine, show: !own.axisTick}};
}

export function numberAxis(c, name, unit, log, vertical) {
  const ink = axisInk(c);
  return {
    ...ink, type: log ? 'log' : 'value', logBase: log && unit === 'B' ? 2 : 10, scale: false,
    name: withUnit(name, unit), nameLocation: vertical ? 'end' : 'middle', nameGap: vertical ? 12 : 28,
    nameTextStyle: {...ink.nameTextStyle, align: vertical ? 'left' : 'center'},
    axisLabel: {...ink.axisLabel, formatter: (value) => tickText(value, unit)},
  };
}

export function wordAxis(c, name, words, vertical, width = 900) {
  const ink = axisInk(c);
  return {...ink, type: 'category', data: words, name, nameLocation: vertical ? 'end' : 'middle',
    nameGap: vertical ? 12 : 28, nameTextStyle: {...ink.nameTextStyle, align: vertical ? 'left' : 'center'},
    splitLine: {show: false}, axisTick: {show: false}, inverse: Boolean(vertical),
    axisLabel: {...ink.axisLabel, width: vertical ? 220 : Math.max(60, (width - 130) / words.length - 8), overflow: 'break', interval: words.length > 30 ? 'auto' : 0,
      hideOverlap: words.length > 30}};
}

const look = (c, line) => ({
  itemStyle: {color: c.series[line.colour % c.series.length]},
  symbol: SYMBOLS[(line.colour + line.variant) % SYMBOLS.length],
});

/** Lines of one colour have different dashes. */
function dashesOf(c, lines) {
  const block = (line) => Math.floor(line.colour / c.series.length);
  const blocks = 1 + Math.max(0, ...lines.map(block));
  return (line) => DASHES[(line.variant * blocks + block(line)) % DASHES.length];
}

function errorBars(lines, c) {
  const data = lines.flatMap((line) => line.points.filter((p) => p[2] > 0)
    .map((p) => ({value: [p[0], p[1] - p[2], p[1] + p[2]], colour: c.series[line.colour % c.series.length]})));
  if (data.length === 0 || data.length > 2000) return [];
  return [{type: 'custom', silent: true, z: 1, data, encode: {x: 0, y: [1, 2]}, tooltip: {show: false},
    renderItem: (params, api) => {
      const low = api.coord([api.value(0), api.value(1)]);
      const high = api.coord([api.value(0), api.value(2)]);
      const style = {stroke: data[params.dataIndex].colour, lineWidth: 1.2, opacity: 0.8};
      const stroke = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style});
      return {type: 'group', children: [stroke(low[0], low[1], high[0], high[1]),
        stroke(low[0] - 4, low[1], low[0] + 4, low[1]), stroke(high[0] - 4, high[1], high[0] + 4, high[1])]};
    }}];
}

const count = (lines) => lines.reduce((sum, line) => sum + line.points.length, 0);

/** `pointTip(i)` describes a point. */
export function lineChart(c, lines, {x, metric, logX, logY, pointTip, width}) {
  const several = lines.length > 1;
  const dashes = dashesOf(c, lines);
  const series = lines.map((line) => ({
    ...look(c, line), type: 'line', name: line.name, data: line.points, encode: {x: 0, y: 1}, symbolSize: 7,
    showSymbol: true, showAllSymbol: true, lineStyle: {width: 2, type: dashes(line)},
    emphasis: {focus: several ? 'series' : 'none', lineStyle: {width: 3}}, blur: {lineStyle: {opacity: 0.25}},
    tooltip: {formatter: (p) => pointTip(p.value[3])},
  }));
  const option = withLegend(c, lines.map((line) => line.name), width);
  return {marks: count(lines), height: 346 + legendHeight(option), option: {...option,
    xAxis: overNumbers(c, x, logX), yAxis: numberAxis(c, metric.name, metric.unit, logY, true),
    series: [...series, ...errorBars(lines, c)]}};
}

/** Many points without lines. */
export function cloud(c, groups, {x, metric, logX, logY, pointTip, width}) {
  const total = groups.reduce((sum, group) => sum + group.who.length, 0);
  const many = total > 5000;
  const option = withLegend(c, groups.map((group) => group.name), width);
  return {marks: total, height: 346 + legendHeight(option), option: {...option,
    xAxis: x.numbers ? overNumbers(c, x, logX) : wordAxis(c, x.name, x.values, false, width),
    yAxis: numberAxis(c, metric.name, metric.unit, logY, true),
    series: groups.map(({name, colour, points, who}) => ({
      type: 'scatter', name, data: points, dimensions: ['x', 'y'], encode: {x: 0, y: 1},
      itemStyle: {color: c.series[colour % c.series.length], opacity: many ? 0.5 : 0.8},
      symbolSize: many ? 3 : 7, // below 4 ECharts draws squares, which is much faster
      symbol: many ? 'circle' : SYMBOLS[colour % SYMBOLS.length], large: many, largeThreshold: 2000, progressive: 0,
      tooltip: {formatter: (p) => pointTip(who[p.dataIndex])}}))}};
}

/** Bars over an axis that has no numbers, or over the few values of one that has. */
export function barChart(c, lines, {x, words, metric, logY, pointTip, width}) {
  const several = lines.length > 1;
  const place = (point) => (x.numbers ? x.numbers.indexOf(point[0]) : point[0]);
  const kept = words.map((v) => x.values[v]);
  const at = new Map(words.map((v, k) => [v, k]));
  // Without several series the bars take the colours of their words.
  const series = lines.map((line) => ({
    ...look(c, line), symbol: undefined, type: 'bar', name: line.name, barMaxWidth: 42, encode: {x: 0, y: 1},
    data: line.points.map((p) => ({value: [at.get(place(p)), p[1], p[2], p[3]],
      itemStyle: several ? undefined : {color: c.series[lookOf(x, place(p)) % c.series.length]}})),
    emphasis: {focus: several ? 'series' : 'none'}, tooltip: {formatter: (p) => pointTip(p.value[3])},
  }));
  const bars = lines.length === 1 ? errorBars(lines.map((line) => ({...line,
    points: line.points.map((p) => [at.get(place(p)), p[1], p[2], p[3]])})), {...c, series: [c.text]}) : [];
  const option = withLegend(c, lines.map((line) => line.name), width);
  return {marks: count(lines), height: 346 + legendHeight(option), option: {...option, xAxis: wordAxis(c, x.name, kept, false, width),
    yAxis: numberAxis(c, metric.name, metric.unit, logY, true), series: [...series, ...bars]}};
}

/** `cells`: [column, row, value, number of points]. */
export function heatMap(c, cells, {x, y, xWords, yWords, metric, logY, width}) {
  const values = cells.map((cell) => cell[2]).filter((v) => Number.isFinite(v) && (!logY || v > 0));
  const low = Math.min(...values);
  const high = Math.max(...values);
  const scale = (v) => (logY ? (v > 0 ? Math.log10(v) : NaN) : v);
  const unscale = (v) => (logY ? 10 ** v : v);
  const height = Math.max(280, Math.min(900, 120 + 30 * yWords.length));
  return {marks: cells.length, height, option: {...base(c),
    grid: {left: 12, right: 110, top: 30, bottom: 36, containLabel: true},
    xAxis: wordAxis(c, x.name, xWords, false, width), yAxis: {...wordAxis(c, y.name, yWords, true), inverse: false},
    visualMap: {min: scale(low), max: scale(high) === scale(low) ? scale(low) + 1 : scale(high), dimension: 2, calculable: true,
      right: 8, top: 'middle', itemHeight: 160, inRange: {color: HEAT}, textStyle: {color: c.text},
      formatter: (v) => tickText(unscale(v), metric.unit)},
    series: [{type: 'heatmap', data: cells.map(([a, b, v, n]) => ({value: [a, b, scale(v), v, n],
      label: {color: (scale(v) - scale(low)) / (scale(high) - scale(low) || 1) > 0.5 ? '#000' : '#fff'}})), encode: {x: 0, y: 1, value: 2},
      itemStyle: {borderColor: c.page, borderWidth: 1},
      label: {show: cells.length <= 220, fontSize: 11, formatter: (p) => tickText(p.value[3], metric.unit).replace(/ (us|B)$/, '')},
      tooltip: {formatter: (p) => tip(`${xWords[p.value[0]]}, ${yWords[p.value[1]]}`,
        [[metric.name, withUnitText(p.value[3], metric.unit)],
          ...(p.value[4] > 1 ? [['mean of', `${p.value[4]} points`]] : [])])}}]}};
}

const NAMED_STEPS = 14; // the longest; the others are grey and tell their names when hovered

/** Time by step: a bar a point, lying. `steps`: [{name, values: one a bar}]. */
export function stackedBars(c, labels, steps, width) {
  const sum = (step) => step.values.reduce((a, b) => a + b, 0);
  const ranked = [...steps].sort((a, b) => sum(b) - sum(a)).slice(0, NAMED_STEPS);
  const inks = [...c.series, ...c.series.map((colour) => `${colour}88`)];
  const ink = (step) => (ranked.includes(step) ? inks[ranked.indexOf(step)] : c.line);
  const option = withLegend(c, steps.filter((step) => ranked.includes(step)).map((step) => step.name), width);
  const room = Math.min(0.35 * width, 16 + 6.6 * Math.max(...labels.map((label) => label.length)));
  const axis = wordAxis(c, '', labels, true);
  return {marks: labels.length * steps.length, height: 100 + legendHeight(option) + 30 * labels.length, option: {...option,
    grid: {...option.grid, left: room, containLabel: false, bottom: 44},
    xAxis: numberAxis(c, 'time', 'us', false),
    yAxis: {...axis, axisLabel: {...axis.axisLabel, width: room - 12, overflow: 'truncate', interval: 0, hideOverlap: false}},
    series: steps.map((step) => ({type: 'bar', stack: 'time', name: step.name, data: step.values, barMaxWidth: 22,
      itemStyle: {color: ink(step)}, emphasis: {focus: 'series'},
      tooltip: {formatter: (p) => tip(step.name, [[p.name, `${metricText(p.value, 'us')} us`],
        ...(step.meaning ? [[step.meaning, '']] : [])])}}))}};
}

// Of gigabytes of free memory some pages change: not from 0 on, and with the digits to tell them apart.
const finely = (axis, unit) => (unit !== 'B' ? axis
  : {...axis, scale: true, axisLabel: {...axis.axisLabel, formatter: (value) => tickText(value, unit, 7)}});

/** Values over time; `lines`: [{name, data: [[us, value]...], colour}]. */
export function timeChart(c, lines, kind, width) {
  const option = withLegend(c, lines.map((line) => line.name), width);
  return {marks: lines.reduce((n, line) => n + line.data.length, 0), height: 240 + legendHeight(option), option: {...option,
    tooltip: {...option.tooltip, trigger: 'axis', valueFormatter: (v) => withUnitText(v, kind.unit)},
    xAxis: numberAxis(c, 'since the first transfer', 'us', false),
    yAxis: finely(numberAxis(c, kind.name, kind.unit, false, true), kind.unit),
    series: lines.map((line) => ({type: 'line', name: line.name, data: line.data, sampling: 'lttb', symbolSize: 5,
      showSymbol: line.data.length <= 60, itemStyle: {color: c.series[line.colour % c.series.length]},
      lineStyle: {width: 1.6}}))}};
}
