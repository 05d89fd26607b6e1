// SPDX-License-Identifier: Apache-2.0
// A chart on the page: drawn when it comes into view, in the page's colours, zoomed by dragging, exported as it is.
import * as echarts from 'echarts/core';
import {BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, TitleComponent, ToolboxComponent, TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';
import {download, el, fileName} from './dom.js';
import {NearestTip} from './near.js';
import {PAPER} from './paper.js';
import {colours, onTheme} from './theme.js';

echarts.use([BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent,
  GridComponent, LegendComponent, TitleComponent, ToolboxComponent, TooltipComponent, VisualMapComponent,
  CanvasRenderer, SVGRenderer]);

const MANY = 3000; // marks; more are drawn on a canvas
const NOTE_LINE = 14; // pixels, of a note in a file
const all = [];

/**
 * `build(colours, width)` gives {title, option, marks, height, note, empty, near, tips(i), still}: what to draw now. `near`: what
 * near.js tells of; `still`: it is not zoomed. `changed()`: the reader has hidden or shown series by the legend.
 */
export class Figure {
  constructor(name, build, changed = () => {}) {
    Object.assign(this, {name, build, changed, visible: false, stale: true, hidden: new Set()});
    this.box = el('div', {class: 'chart', role: 'img', 'aria-label': name});
    const frame = el('div', {class: 'frame'}, this.box);
    this.nearest = new NearestTip(frame, () => this.made && this.made.near && {near: this.made.near, tipOf: this.made.tips, hidden: this.hidden});
    this.note = el('p', {class: 'hint'});
    const button = (text, title, action) => el('button', {type: 'button', title, onclick: action}, text);
    this.zooming = [el('span', {class: 'count'}, 'Drag over an area to zoom; Ctrl and wheel, too.'),
      button('Reset zoom', 'Or a double click on the chart', () => this.redraw())];
    this.tools = el('div', {class: 'tools'}, ...this.zooming,
      button('SVG', 'Download this chart as SVG', () => this.exportSvg()),
      button('PNG', 'Download this chart as PNG', () => this.exportPng()));
    this.node = el('div', {class: 'figure'}, frame, this.note, this.tools);
    all.push(this);
    new IntersectionObserver((entries) => {
      this.visible = entries[entries.length - 1].isIntersecting;
      if (this.visible && this.stale) this.draw();
    }, {rootMargin: '300px'}).observe(this.node);
    new ResizeObserver(() => { this.resized(); }).observe(this.box);
  }
  resized() {
    if (!this.chart || this.box.clientWidth === 0 || this.box.clientWidth === this.width) return;
    if (!this.visible) this.chart.resize(); // not to be wider than the page until it is drawn again
    this.redraw();
  }
  /** Something has changed: draws now or, out of sight, later. */
  redraw() {
    this.stale = true;
    if (this.visible) this.draw();
  }
  draw() {
    this.stale = false;
    this.width = this.box.clientWidth;
    this.made = this.build({...colours(), paper: this.paper}, this.width || 900);
    this.nearest.forget();
    const {option, marks, height = 380, note, empty} = this.made;
    this.note.textContent = empty || note || '';
    this.box.hidden = Boolean(empty);
    this.tools.hidden = Boolean(empty);
    if (empty) return;
    this.box.style.height = `${height}px`;
    const renderer = marks > MANY ? 'canvas' : 'svg';
    if (this.renderer !== renderer) {
      if (this.chart) this.chart.dispose();
      this.chart = echarts.init(this.box, null, {renderer});
      this.chart.getZr().on('dblclick', () => this.redraw());
      this.chart.on('legendselectchanged', ({selected}) => {
        this.hidden = new Set(Object.keys(selected).filter((name) => !selected[name]));
        this.nearest.hide();
        this.changed();
      });
      this.nearest.follow(this.chart);
      this.renderer = renderer;
    }
    // ECharts would show a tip again a moment later, of a tooltip that is gone by then.
    this.chart.dispatchAction({type: 'hideTip'});
    this.chart.resize({silent: true});
    this.chart.setOption(this.made.still ? option : zoomable(this.withHidden(option)), {notMerge: true});
    this.chart.dispatchAction({type: 'takeGlobalCursor', key: 'dataZoomSelect', dataZoomSelectActive: !this.made.still});
    for (const node of this.zooming) node.hidden = Boolean(this.made.still);
    this.box.dataset.marks = String(marks);
  }
  /** Without the series that the reader has switched off. */
  withHidden(option) {
    if (!option.legend || this.hidden.size === 0) return option;
    const selected = Object.fromEntries([...this.hidden].map((name) => [name, false]));
    return {...option, legend: [option.legend].flat().map((legend) => ({...legend, selected}))};
  }
  /** Paper gets its drawing in this very moment. */
  drawForPaper() {
    this.box.style.width = `${PAPER}px`;
    this.paper = true;
    this.draw();
    if (this.chart) this.chart.getZr().flush();
  }
  drawForScreen() {
    this.box.style.width = '';
    this.paper = false;
    this.redraw();
  }
  /** What is drawn, where it is zoomed to, with a heading and the note of its own. */
  exported() {
    if (this.stale) this.draw();
    const {option, title} = this.made;
    const c = colours();
    const heading = {text: title || this.name, left: 8, top: 6, textStyle: {color: c.text, fontSize: 14, fontWeight: 600}};
    const below = {text: this.noteLines().join('\n'), left: 8, bottom: 4, textStyle: {color: c.faint, fontSize: 11, fontWeight: 400, lineHeight: NOTE_LINE}};
    const foot = NOTE_LINE * this.noteLines().length;
    if (this.made.still) {
      const lower = (part) => ({...part, top: part.top + 26});
      return {...option, backgroundColor: c.page, grid: option.grid.map(lower), title: [heading, below, ...option.title.map(lower)]};
    }
    const zoomed = this.chart.getOption().dataZoom || [];
    const zooms = zoomable(option).dataZoom.map((zoom, k) =>
      ({...zoom, ...(zoomed[k] ? {start: zoomed[k].start, end: zoomed[k].end} : {})}));
    const grid = {...option.grid, top: (option.grid.top || 40) + 26, bottom: (option.grid.bottom || 36) + foot};
    const {legend} = this.withHidden(option);
    return {...option, grid, legend: legend && [legend].flat().map((each) => ({...each, top: each.top + 30})), dataZoom: zooms,
      backgroundColor: c.page, title: [heading, below]};
  }
  noteLines() {
    const letters = Math.max(60, Math.floor(this.box.clientWidth / 6));
    const lines = [];
    for (const word of (this.made.note || '').split(' ').filter(Boolean)) {
      if (lines.length === 0 || lines[lines.length - 1].length + word.length >= letters) lines.push(word);
      else lines[lines.length - 1] += ` ${word}`;
    }
    return lines;
  }
  size() {
    return {width: Math.max(480, this.box.clientWidth), height: this.box.clientHeight + 26 + NOTE_LINE * this.noteLines().length};
  }
  exportSvg() {
    const chart = echarts.init(null, null, {renderer: 'svg', ssr: true, ...this.size()});
    chart.setOption(this.exported());
    download(`${fileName(this.made.title || this.name)}.svg`, 'image/svg+xml', chart.renderToSVGString());
    chart.dispose();
  }
  exportPng() {
    const holder = el('div', {});
    const chart = echarts.init(holder, null, {renderer: 'canvas', devicePixelRatio: 2, ...this.size()});
    chart.setOption(this.exported());
    chart.getZr().flush();
    download(`${fileName(this.made.title || this.name)}.png`, 'image/png', chart.getDataURL({type: 'png', pixelRatio: 2}));
    chart.dispose();
  }
}

// Zooming by an area needs the toolbox's feature, whose icons are not shown: it is always on.
function zoomable(option) {
  const inside = {type: 'inside', filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: 'shift',
    moveOnMouseWheel: false, preventDefaultMouseMove: false};
  return {...option,
    dataZoom: [{...inside, xAxisIndex: 0}, {...inside, yAxisIndex: 0}],
    toolbox: {itemSize: 0, showTitle: false, feature: {dataZoom: {filterMode: 'none',
      brushStyle: {color: 'rgba(110, 140, 180, 0.25)', borderWidth: 0}}}}};
}

onTheme(() => { for (const figure of all) figure.redraw(); });
window.addEventListener('beforeprint', () => { for (const figure of all) figure.drawForPaper(); });
window.addEventListener('afterprint', () => { for (const figure of all) figure.drawForScreen(); });
