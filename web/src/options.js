// SPDX-License-Identifier: Apache-2.0
// ECharts options of the kinds of charts.
import {lookOf} from './data.js';
import {quantityText, tickText, timeText, withUnit} from './format.js';
import {colourOf, dashOf, dashesOf, symbolOf} from './looks.js';
import {HEAT} from './theme.js';

// Without quotes, which ECharts would write unescaped into an attribute of an SVG file.
const FONT = 'system-ui, -apple-system, Roboto, Helvetica, Arial, sans-serif';

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
const MOST_ROWS = 9; // of a legend; a longer one is paged

const sheet = document.createElement('canvas').getContext('2d');
/** Pixels of a text. */
export function widthOf(text, size = 12, weight = 400) {
  sheet.font = `${weight} ${size}px ${FONT}`;
  return sheet.measureText(text).width;
}

const LEGEND_GAP = 12;
const LEGEND_ICON = 31; // and what is between it and its text
/** How many rows a legend needs. */
function legendRows(names, width, icon = LEGEND_ICON) {
  let rows = 1;
  let at = 0;
  for (const name of names) {
    const needed = Math.min(icon + widthOf(name), width - 26);
    if (at > 0 && at + needed > width - 26) { ++rows; at = 0; }
    at += needed + LEGEND_GAP;
  }
  return rows;
}

/** Base with a legend above the chart; `names` of several series. */
function withLegend(c, all, width) {
  const names = [...new Set(all)];
  const option = base(c);
  if (names.length < 2) return {...option, grid: {...option.grid, top: 34}};
  const rows = legendRows(names, width);
  const paged = rows > MOST_ROWS;
  return {...option, grid: {...option.grid, top: 40 + LEGEND_ROW * (paged ? 1 : rows)},
    legend: {type: paged ? 'scroll' : 'plain', top: 0, left: 8, right: 8, data: names, itemGap: 12, tooltip: {show: true},
      textStyle: {color: c.text, ...(names.some((name) => LEGEND_ICON + widthOf(name) > width - 26) ? {width: width - 70, overflow: 'truncate'} : {})},
      pageTextStyle: {color: c.text}, pageIconColor: c.text, pageIconInactiveColor: c.line, inactiveColor: c.faint}};
}
const legendHeight = (option) => option.grid.top - 34;

const axisInk = (c) => ({
  nameTextStyle: {color: c.text, fontWeight: 600}, axisLine: {show: true, lineStyle: {color: c.faint}},
  axisTick: {lineStyle: {color: c.faint}}, axisLabel: {color: c.faint, hideOverlap: true},
  splitLine: {show: true, lineStyle: {color: c.line, opacity: 0.6}}, minorSplitLine: {show: false},
});

/** Of an axis's values those whose labels have room, the first and the last one before others. */
function withRoom(values, unit, log, width) {
  const at = (v) => (log ? Math.log(v) : v);
  const scale = (width - 100) / (at(values[values.length - 1]) - at(values[0]));
  const half = (v) => widthOf(tickText(v, unit)) / 2 + 4;
  const fit = (a, b) => scale * Math.abs(at(b) - at(a)) >= half(a) + half(b);
  const kept = [values[0]];
  const last = values[values.length - 1];
  for (const v of values.slice(1, -1)) if (fit(kept[kept.length - 1], v) && fit(v, last)) kept.push(v);
  return [...kept, last];
}

/** A horizontal axis is as long as its values, and has its ticks where they are when they are few. */
function ends(numbers, log, unit, width) {
  const sorted = [...new Set(numbers)].filter((v) => Number.isFinite(v) && (!log || v > 0)).sort((a, b) => a - b);
  if (sorted.length < 2) return {};
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const gap = log ? (high / low) ** 0.03 : (high - low) * 0.03;
  const few = sorted.length <= 14;
  return {min: log ? low / gap : low - gap, max: log ? high * gap : high + gap,
    ...(few ? {axisTick: {customValues: sorted}, axisLabel: {customValues: withRoom(sorted, unit, log, width)}} : {})};
}
function overNumbers(c, x, log, width) {
  const axis = numberAxis(c, x.name, x.unit, log);
  const own = ends(x.numbers, log, x.unit, width);
  return {...axis, ...own, axisTick: {...axis.axisTick, ...own.axisTick},
    axisLabel: {...axis.axisLabel, showMinLabel: Boolean(own.axisLabel), showMaxLabel: Boolean(own.axisLabel), ...own.axisLabel},
    splitLine: {...axis.splitLine, show: !own.axisTick}};
}

export function numberAxis(c, name, unit, log, vertical) {
  const ink = axisInk(c);
  return {
    ...ink, type: log ? 'log' : 'value', logBase: log && unit === 'B' ? 2 : 10, scale: false,
    // Ticks of times and sizes have their units.
    name: `${['us', 'B'].includes(unit) ? name : withUnit(name, unit)}${log && vertical ? ' (log scale)' : ''}`,
    nameLocation: vertical ? 'end' : 'middle', nameGap: vertical ? 12 : 28,
    nameTextStyle: {...ink.nameTextStyle, align: vertical ? 'left' : 'center'},
    axisLabel: {...ink.axisLabel, formatter: (value) => tickText(value, unit)},
  };
}

/** A log axis at whose foot the values of 0 stand. */
const footed = (axis, foot) => (foot === undefined ? axis : {...axis, min: foot, axisLabel: {...axis.axisLabel, showMinLabel: true,
  formatter: (value) => (value <= 1.0001 * foot ? '0' : axis.axisLabel.formatter(value))}});

const LINE = 15; // pixels of a line of words below an axis
const TURN = 35; // degrees, of words that have no room

/** A text on lines of so many pixels, broken at blanks and behind hyphens and slashes; null where a piece is longer. */
function wrapped(text, pixels) {
  const lines = [];
  for (const part of text.split('\n')) {
    let line = '';
    for (const piece of part.split(/(?<=[ /-])/)) {
      if (widthOf(piece.trim()) > pixels) return null;
      if (line && widthOf((line + piece).trim()) > pixels) { lines.push(line.trim()); line = ''; }
      line += piece;
    }
    lines.push(line.trim());
  }
  return lines;
}

/** Labels of words side by side: on lines, or turned where there is no room; `high`: what they need below the axis. */
function wordLabels(words, width) {
  const room = Math.max(24, (width - 110) / words.length - 8);
  const lines = words.map((word) => wrapped(word, room));
  if (lines.every(Boolean)) {
    return {high: LINE * Math.max(...lines.map((each) => each.length)), label: {lineHeight: LINE, formatter: (_, k) => lines[k].join('\n')}};
  }
  const longest = Math.min(150, Math.max(...words.map((word) => widthOf(word.replace(/\n/g, ', ')))));
  return {high: 8 + longest * Math.sin(TURN * Math.PI / 180), label: {rotate: TURN, width: 150, overflow: 'truncate',
    formatter: (word) => word.replace(/\n/g, ', ')}};
}

export function wordAxis(c, name, words, vertical, width = 900) {
  const ink = axisInk(c);
  const many = words.length > 30;
  const {high, label} = vertical || many ? {high: LINE, label: {width: vertical ? 220 : 80, overflow: vertical ? 'break' : 'truncate'}} : wordLabels(words, width);
  return {...ink, type: 'category', data: words, name, nameLocation: vertical ? 'end' : 'middle',
    nameGap: vertical ? 12 : 14 + high, nameTextStyle: {...ink.nameTextStyle, align: vertical ? 'left' : 'center'},
    splitLine: {show: false}, axisTick: {show: false}, inverse: Boolean(vertical),
    axisLabel: {...ink.axisLabel, ...label, interval: many ? 'auto' : 0, hideOverlap: many}};
}

const look = (c, line) => ({itemStyle: {color: colourOf(c, line.colour)}, symbol: symbolOf(line.colour)});
/** A mark of a point some of whose transfers failed. */
const hollow = (c, colour) => ({color: c.page, borderColor: colourOf(c, colour), borderWidth: 1.8});

/** Whiskers of each line, which the legend hides with it; cut at the foot of a log axis. `shift(api, n)`: pixels, of line n. */
function errorBars(lines, c, {floor = -Infinity, z = 1, shift = (api, n) => lines[n].shift || 0}) {
  const own = lines.map((line) => line.points.filter((p) => p[2] > 0).map((p) => [p[0], Math.max(floor, p[1] - p[2]), p[1] + p[2]]));
  if (own.flat().length > 2000) return [];
  return lines.map((line, n) => ({type: 'custom', name: line.name, silent: true, clip: true, z, data: own[n], encode: {x: 0, y: [1, 2]},
    tooltip: {show: false},
    renderItem: (params, api) => {
      const [low, high] = [1, 2].map((end) => api.coord([api.value(0), api.value(end)])[1]);
      const x = api.coord([api.value(0), api.value(1)])[0] + shift(api, n);
      const style = {stroke: colourOf(c, line.colour), lineWidth: 1.2, opacity: 0.8};
      const stroke = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style});
      return {type: 'group', children: [stroke(x, low, x, high), stroke(x - 4, low, x + 4, low), stroke(x - 4, high, x + 4, high)]};
    }})).filter((series) => series.data.length > 0);
}

const count = (lines) => lines.reduce((sum, line) => sum + line.points.length, 0);

/** A second legend, of dashes, where lines of one colour differ by them. `variants`: their names in order. */
function dashLegend(c, option, lines, variants, width) {
  if (variants.length < 2) return {option, series: []};
  const shown = variants.filter((_, k) => lines.some((line) => line.variant === k));
  const series = shown.map((name) => ({type: 'line', name, data: [], symbol: 'none', silent: true, itemStyle: {color: c.faint},
    lineStyle: {color: c.faint, width: 2, type: dashOf(variants.indexOf(name))}}));
  const own = option.legend ? legendHeight(option) : 0;
  const rows = legendRows(shown, width, LEGEND_ICON + 9);
  return {series, option: {...option, grid: {...option.grid, top: option.grid.top + LEGEND_ROW * rows}, legend: [...[option.legend || []].flat(),
    {type: 'plain', top: own, left: 8, right: 8, data: shown, selectedMode: false, itemWidth: 34, itemStyle: {opacity: 0}, textStyle: {color: c.text}, itemGap: 12}]}};
}

const dataOf = (c, line, lost) => line.points.map((p) => (lost([p[3]]) ? {value: p, itemStyle: hollow(c, line.colour), symbolSize: 9} : p));

/** Lines; the tip of whatever is near the pointer is the explorer's. `foot`: where values of 0 stand on a log axis. */
export function lineChart(c, lines, {x, metric, logX, logY, foot, floor, lost, variants, width}) {
  const several = lines.length > 1;
  const dashes = dashesOf(lines);
  const series = lines.map((line) => ({
    ...look(c, line), type: 'line', name: line.name, data: dataOf(c, line, lost), encode: {x: 0, y: 1}, symbolSize: 8, symbolKeepAspect: true,
    showSymbol: true, showAllSymbol: true, lineStyle: {width: 2, type: dashes(line), color: colourOf(c, line.colour)},
    emphasis: {focus: several ? 'series' : 'none', lineStyle: {width: 3}}, blur: {lineStyle: {opacity: 0.25}}, tooltip: {show: false},
  }));
  const key = dashLegend(c, withLegend(c, lines.map((line) => line.name), width), lines, variants || [], width);
  const {option} = key;
  return {marks: count(lines), height: 346 + legendHeight(option),
    near: {logX, logY, joined: true, lines: lines.map(({name, points}) => ({name, points: points.map((p) => [p[0], p[1], p[3]])}))},
    option: {...option, xAxis: overNumbers(c, x, logX, width), yAxis: footed(numberAxis(c, metric.name, metric.unit, logY, true), foot),
      series: [...series, ...errorBars(lines, c, {floor}), ...key.series]}};
}

/** Many points without lines. */
export function cloud(c, groups, {x, metric, logX, logY, foot, lost: lostOf, width}) {
  const total = groups.reduce((sum, group) => sum + group.who.length, 0);
  const many = total > 5000;
  const option = withLegend(c, groups.map((group) => group.name), width);
  const place = (group, k) => [group.points[2 * k], group.points[2 * k + 1]];
  const lost = groups.map((group) => ({...group, marks: [...group.who.keys()].filter((k) => lostOf([group.who[k]]))}))
    .filter((group) => group.marks.length > 0);
  return {marks: total, height: 346 + legendHeight(option),
    near: {logX, logY, joined: false, lines: groups.map((group) => ({name: group.name, points: Array.from(group.who, (i, k) => [...place(group, k), i])}))},
    option: {...option,
      xAxis: x.numbers ? overNumbers(c, x, logX, width) : wordAxis(c, x.name, x.texts, false, width),
      yAxis: footed(numberAxis(c, metric.name, metric.unit, logY, true), foot),
      series: [...groups.map(({name, colour, points}) => ({
        type: 'scatter', name, data: points, dimensions: ['x', 'y'], encode: {x: 0, y: 1},
        itemStyle: {color: colourOf(c, colour), opacity: many ? 0.5 : 0.8}, symbolKeepAspect: true,
        symbolSize: many ? 3 : 8, // below 4 ECharts draws squares, which is much faster
        symbol: many ? 'circle' : symbolOf(colour), large: many, largeThreshold: 2000, progressive: 0, tooltip: {show: false}})),
      ...lost.map((group) => ({type: 'scatter', name: group.name, data: group.marks.map((k) => place(group, k)), symbolKeepAspect: true,
        symbolSize: 9, symbol: symbolOf(group.colour), itemStyle: hollow(c, group.colour), tooltip: {show: false}}))]}};
}

/** Where bars of a colour would stand at one word, each combination of word and variant is a column of its own. */
function besideEachOther(all, x, words, variants, value) {
  const there = new Set(all.flatMap((line) => line.points.map((p) => `${value(p)},${line.variant}`)));
  const columns = words.flatMap((v) => variants.map((text, variant) => ({v, variant, key: `${v},${variant}`,
    text: `${x.texts[v]}\n${text.split(', ').map((part) => part.replace(/^.* = /, '')).join(', ')}`}))).filter(({key}) => there.has(key));
  const at = new Map(columns.map(({key}, k) => [key, k]));
  const lines = new Map();
  for (const line of all) {
    if (!lines.has(line.name)) lines.set(line.name, {...line, variant: 0, points: []});
    lines.get(line.name).points.push(...line.points.map((p) => [at.get(`${value(p)},${line.variant}`), ...p.slice(1)]));
  }
  for (const line of lines.values()) line.points.sort((a, b) => a[0] - b[0]);
  return {columns, lines: [...lines.values()]};
}

const WIDEST = 42; // pixels, of a bar
const MOST_TOLD = 14; // of bars that stand beside each other

/** Bars over an axis that has no numbers, or over the few values of one that has. On a log axis, where a bar has no length, markers. */
export function barChart(c, all, {x, words, variants, metric, logY, foot, floor, lost, pointTip, quantity, width}) {
  const value = (point) => (x.numbers ? x.numbers.indexOf(point[0]) : point[0]);
  const {columns, lines: placed} = variants.length > 1 ? besideEachOther(all, x, words, variants, value)
    : {columns: words.map((v) => ({v, text: x.texts[v]})), lines: all.map((line) => ({...line, points: line.points.map((p) => [words.indexOf(value(p)), ...p.slice(1)])}))};
  const lines = placed;
  const several = lines.length > 1;
  const kept = columns.map((column) => column.text);
  const option = withLegend(c, lines.map((line) => line.name), width);
  const made = {marks: count(lines), height: 346 + legendHeight(option)};
  // Strategies on the axis have their own looks.
  const lookAt = (line, k) => (several || x.number !== 0 ? line.colour : lookOf(x, columns[k].v));
  const shell = {...option, xAxis: wordAxis(c, x.name, kept, false, width),
    yAxis: footed(numberAxis(c, metric.name, metric.unit, logY, true), foot)};
  if (logY) {
    const step = Math.min(26, 0.8 * (width - 90) / kept.length / lines.length);
    const shift = (n) => (n - (lines.length - 1) / 2) * step;
    return {...made, near: {logY, joined: false, lines: placed.map((line, n) => ({name: line.name, shift: shift(n), points: line.points.map((p) => [p[0], p[1], p[3]])}))},
      option: {...shell, series: [...placed.map((line, n) => ({type: 'scatter', name: line.name, encode: {x: 0, y: 1}, symbolSize: 10, symbolKeepAspect: true,
        ...look(c, line), symbolOffset: [shift(n), 0], tooltip: {show: false},
        data: line.points.map((p) => ({value: p, symbol: symbolOf(lookAt(line, p[0])),
          itemStyle: lost([p[3]]) ? hollow(c, lookAt(line, p[0])) : {color: colourOf(c, lookAt(line, p[0]))}}))})),
      ...errorBars(placed.map((line, n) => ({...line, shift: shift(n)})), c, {floor})]}};
  }
  const series = placed.map((line) => ({
    ...look(c, line), symbol: undefined, type: 'bar', name: line.name, barMaxWidth: WIDEST, encode: {x: 0, y: 1},
    data: line.points.map((p) => ({value: p, itemStyle: lost([p[3]]) ? hollow(c, lookAt(line, p[0])) : {color: colourOf(c, lookAt(line, p[0]))}})),
    emphasis: {focus: several ? 'series' : 'none'},
  }));
  // Bars that the legend hides leave their room to the others.
  const middle = (api, n) => {
    const seen = api.currentSeriesIndices().filter((each) => each < placed.length);
    return api.barLayout({barMaxWidth: WIDEST, count: seen.length})[seen.indexOf(n)].offsetCenter;
  };
  const bars = errorBars(placed.map((line) => ({...line, colour: 0})), {...c, series: [c.text]}, {z: 3, shift: middle});
  // Anywhere over a word: what stands there.
  const told = (list) => {
    if (list.length === 1) return pointTip(list[0].value[3]);
    const rows = list.slice(0, MOST_TOLD).map((p) => [p.seriesName, quantity(p.value[3])]);
    return tip(list[0].axisValue, [...rows, ...(list.length > MOST_TOLD ? [[`and ${list.length - MOST_TOLD} more`, '']] : [])]);
  };
  const tooltip = {...option.tooltip, trigger: 'axis', axisPointer: {type: 'shadow', shadowStyle: {color: 'rgba(110, 140, 180, 0.15)'}},
    formatter: (list) => told([list].flat().filter((p) => p.seriesType === 'bar'))};
  return {...made, option: {...shell, tooltip, series: [...series, ...bars]}};
}

/** `cells`: [column, row, value, number of points, which transfers failed there]. */
export function heatMap(c, cells, {x, y, xWords, yWords, metric, logY, width}) {
  const values = cells.map((cell) => cell[2]).filter((v) => Number.isFinite(v) && (!logY || v > 0));
  const low = Math.min(...values);
  const high = Math.max(...values);
  const scale = (v) => (logY ? (v > 0 ? Math.log10(v) : NaN) : v);
  const unscale = (v) => (logY ? 10 ** v : v);
  // What is lost is told where it has room, and by the pointer.
  const room = (width - 180 - Math.max(...yWords.map((word) => widthOf(word)))) / xWords.length;
  const lost = (text) => (text && widthOf(text, 11) > room ? '!' : text);
  const height = Math.max(280, Math.min(900, 120 + (cells.some((cell) => cell[4]) ? 40 : 30) * yWords.length));
  return {marks: cells.length, height, option: {...base(c),
    grid: {left: 12, right: 110, top: 30, bottom: 36, containLabel: true},
    xAxis: wordAxis(c, x.name, xWords, false, width), yAxis: {...wordAxis(c, y.name, yWords, true), inverse: false},
    visualMap: {min: scale(low), max: scale(high) === scale(low) ? scale(low) + 1 : scale(high), dimension: 2, calculable: true,
      right: 8, top: 'middle', itemHeight: 160, inRange: {color: HEAT}, textStyle: {color: c.text},
      formatter: (v) => tickText(unscale(v), metric.unit)},
    series: [{type: 'heatmap', data: cells.map(([a, b, v, ...rest]) => ({value: [a, b, scale(v), v, ...rest],
      label: {color: (scale(v) - scale(low)) / (scale(high) - scale(low) || 1) > 0.5 ? '#000' : '#fff'}})), encode: {x: 0, y: 1, value: 2},
      itemStyle: {borderColor: c.page, borderWidth: 1},
      label: {show: cells.length <= 220, fontSize: 11, formatter: (p) => [tickText(p.value[3], metric.unit, 3), lost(p.value[5])].filter(Boolean).join('\n')},
      tooltip: {formatter: (p) => tip(`${xWords[p.value[0]]}, ${yWords[p.value[1]]}`,
        [[metric.name, quantityText(p.value[3], metric.unit)], ...(p.value[5] ? [['', p.value[5]]] : []),
          ...(p.value[4] > 1 ? [['mean of', `${p.value[4]} points`]] : [])])}}]}};
}

// Of gigabytes of free memory some pages change: not from 0 on, and with the digits to tell them apart.
const finely = (axis, unit) => (unit !== 'B' ? axis
  : {...axis, scale: true, axisLabel: {...axis.axisLabel, formatter: (value) => tickText(value, unit, 7)}});

/** Values over time; `lines`: [{name, data: [[us, value]...], colour}]. */
export function timeChart(c, lines, kind, log, width) {
  const option = withLegend(c, lines.map((line) => line.name), width);
  return {marks: lines.reduce((n, line) => n + line.data.length, 0), height: 240 + legendHeight(option), option: {...option,
    tooltip: {...option.tooltip, trigger: 'axis', formatter: (list) => tip(timeText(list[0].value[0]),
      list.map((p) => [p.seriesName, quantityText(p.value[1], kind.unit)]))},
    xAxis: numberAxis(c, 'since the first transfer', 'us', false),
    yAxis: finely(numberAxis(c, kind.name, kind.unit, log, true), kind.unit),
    series: lines.map((line) => ({type: 'line', name: line.name, data: line.data, sampling: 'lttb', symbolSize: 6,
      symbol: symbolOf(line.colour), showSymbol: line.data.length <= 60, itemStyle: {color: colourOf(c, line.colour)},
      lineStyle: {width: 1.6, type: dashOf(Math.floor(line.colour / 8))}}))}};
}
