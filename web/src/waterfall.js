// SPDX-License-Identifier: Apache-2.0
// Where the time of a transfer goes: of each point a waterfall of its steps, in order of time, as the terminal prints it.
import {numberAxis, tip, widthOf} from './options.js';
import {timeBeside, timeText} from './format.js';

const MOST_ROWS = 50; // of a point; later attempts are one row each where there are more
const FAR = 6; // the longest of the shortest waterfall, from where on each has a scale of its own
const ROW = 19; // pixels
const TWO_BESIDE = 900; // pixels of width; on paper always
const PAGE = 790; // pixels of a page that a chart may fill
const BETWEEN = 56; // below the rows of a waterfall

const attemptOf = (name) => (name.match(/ \((resend(?: \d+)?)\)$/) || [])[1];

function together(rows, attempts) {
  const kept = [];
  for (const row of rows) {
    const attempt = attemptOf(row.name);
    const last = kept[kept.length - 1];
    if (!attempts.includes(attempt)) kept.push(row);
    else if (last && last.attempt === attempt) last.time += row.time;
    else kept.push({name: `${attempt}: all its steps`, where: '', meaning: '', attempt, start: row.start, time: row.time});
  }
  return kept;
}

/** Of a point [{name, where, meaning, start, time}...] in us: each begins where the one before it ends. */
export function rowsOf(run, i) {
  const {names, first, step, mean} = run.steps;
  let rows = [];
  let start = 0;
  for (let at = first[i]; at < first[i + 1]; ++at) {
    const {step: name, where, meaning} = names[step[at]];
    rows.push({name, where, meaning, start, time: mean[at]});
    start += mean[at];
  }
  const attempts = [...new Set(rows.map((row) => attemptOf(row.name)).filter(Boolean))];
  const merged = [];
  while (together(rows, merged).length > MOST_ROWS && attempts.length > 0) merged.push(attempts.pop());
  rows = together(rows, merged);
  if (rows.length <= MOST_ROWS) return rows;
  const rest = rows.slice(MOST_ROWS - 1);
  return [...rows.slice(0, MOST_ROWS - 1), {name: `${rest.length} later rows`, where: '', meaning: '', start: rest[0].start,
    time: rest.reduce((sum, row) => sum + row.time, 0)}];
}

const FAMILIES = {source: [212, 75], destination: [22, 88], '': [0, 0]}; // hue and saturation

/** Of each step its own shade: blues at the source, oranges at the destination, darker (on a dark page lighter) the later it is. */
function shades(c, panels) {
  const steps = new Map();
  for (const {rows} of panels) {
    for (const row of rows) {
      if (!steps.has(row.where)) steps.set(row.where, new Set());
      steps.get(row.where).add(row.name);
    }
  }
  const found = new Map();
  for (const [where, names] of steps) {
    const [hue, saturation] = FAMILIES[where] || FAMILIES[''];
    [...names].forEach((name, k) => {
      const part = k / Math.max(1, names.size - 1);
      const light = c.name === 'dark' ? 38 + 36 * part : 68 - 40 * part;
      found.set(`${where}\n${name}`, `hsl(${hue}, ${saturation}%, ${light.toFixed(2)}%)`);
    });
  }
  return (row) => found.get(`${row.where}\n${row.name}`);
}

function bars(c, panel, index, colour, longest, size) {
  const {rows} = panel;
  const total = panel.total || 1;
  return {type: 'custom', xAxisIndex: index, yAxisIndex: index, name: panel.title, encode: {x: [0, 1], y: 2}, clip: false,
    data: rows.map((row, k) => [row.start, row.start + row.time, k]),
    tooltip: {formatter: ({dataIndex}) => {
      const row = rows[dataIndex];
      return tip(row.name, [...(row.where ? [['at the', row.where]] : []), ['time', timeText(row.time)],
        ['from the begin', `${timeText(row.start)} to ${timeText(row.start + row.time)}`],
        ['share', `${(100 * row.time / total).toFixed(1)} %`], ...(row.meaning ? [[row.meaning, '']] : [])]);
    }},
    renderItem: (params, api) => {
      const row = rows[params.dataIndex];
      const [x1, y] = api.coord([api.value(0), params.dataIndex]);
      const [x2] = api.coord([api.value(1), params.dataIndex]);
      const high = 0.8 * api.size([0, 1])[1];
      const {coordSys: box} = params;
      const right = row.start + row.time < 0.6 * longest;
      const next = params.dataIndex + 1 < rows.length;
      const text = timeBeside(row.time, panel.total);
      return {type: 'group', children: [
        // The whole row answers to the pointer.
        {type: 'rect', shape: {x: box.x, y: y - 0.625 * high, width: box.width, height: 1.25 * high}, style: {fill: 'rgba(0,0,0,0)'}},
        ...(next ? [{type: 'line', shape: {x1: x2, y1: y, x2, y2: y + 1.25 * high}, style: {stroke: c.faint, lineWidth: 0.7}, silent: true}] : []),
        {type: 'rect', shape: {x: x1, y: y - high / 2, width: Math.max(1.5, x2 - x1), height: high}, style: {fill: colour(row)},
          name: row.name, silent: true},
        {type: 'text', silent: true, style: {text, x: right ? Math.max(x2, x1 + 1.5) + 4 : x1 - 4, y, fill: c.text, fontSize: size - 0.5,
          textAlign: right ? 'left' : 'right', textVerticalAlign: 'middle'}},
      ]};
    }};
}

/** Pixels of a row, so that all fit onto a page if that can be. */
function rowOnPaper(panels, columns) {
  let rows = 0;
  let rest = 0;
  for (let at = 0; at < panels.length; at += columns) {
    rows += Math.max(...panels.slice(at, at + columns).map((panel) => panel.rows.length));
    rest += BETWEEN + 25;
  }
  return Math.max(9, Math.min(15, (PAGE - rest) / rows));
}

/** `panels`: [{title, rows, total}]. Totals that are far apart have a scale each; `own` says so. */
export function waterfalls(c, base, panels, width) {
  const totals = panels.map((panel) => panel.total);
  const own = Math.max(...totals) > FAR * Math.min(...totals);
  const colour = shades(c, panels);
  const columns = (c.paper || width >= TWO_BESIDE) && panels.length > 1 ? 2 : 1;
  const across = width / columns;
  const narrow = across < 500;
  const high = c.paper ? rowOnPaper(panels, columns) : ROW;
  const size = Math.min(narrow ? 10 : 11, high - 1);
  const room = Math.min(0.62 * across, 14 + Math.max(...panels.flatMap(({rows}) => rows.map((row) => widthOf(row.name, size)))));
  const linesOf = (title) => title.split('\n').reduce((sum, line) => sum + Math.ceil(widthOf(line, 12.5, 600) * 1.08 / (across - 24)), 0);
  const option = {...base, grid: [], title: [], xAxis: [], yAxis: [], series: []};
  let top = 4;
  for (let at = 0; at < panels.length; at += columns) {
    const row = panels.slice(at, at + columns);
    const lines = Math.max(...row.map((panel) => linesOf(panel.title)));
    const most = Math.max(...row.map((panel) => panel.rows.length));
    row.forEach((panel, k) => {
      const longest = own ? panel.total : Math.max(...totals);
      const left = k * across;
      const index = at + k;
      option.title.push({text: panel.title, left: left + 6, top, padding: 0,
        textStyle: {color: c.text, fontSize: 12.5, fontWeight: 600, lineHeight: 17, width: across - 20, overflow: 'break'}});
      option.grid.push({left: left + room, top: top + 17 * lines + 8, width: across - room - 26, height: high * panel.rows.length});
      const axis = numberAxis(c, narrow ? 'time' : 'time since the begin of the transfer', 'us', false);
      option.xAxis.push({...axis, gridIndex: index, min: 0, max: 1.02 * longest || 1, splitNumber: narrow ? 2 : 5,
        axisLabel: {...axis.axisLabel, showMaxLabel: false}});
      option.yAxis.push({type: 'category', gridIndex: index, inverse: true, data: panel.rows.map((each) => each.name), axisTick: {show: false},
        axisLine: {lineStyle: {color: c.faint}}, axisLabel: {color: c.text, fontSize: size, interval: 0, width: room - 10, overflow: 'truncate'}});
      option.series.push(bars(c, panel, index, colour, longest, size));
    });
    top += 17 * lines + 8 + high * most + BETWEEN;
  }
  return {marks: panels.reduce((sum, {rows}) => sum + rows.length, 0), height: top, own, option, still: true};
}
