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
import {colours, onTheme} from './theme.js';

echarts.use([BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent,
  GridComponent, LegendComponent, TitleComponent, ToolboxComponent, TooltipComponent, VisualMapComponent,
  CanvasRenderer, SVGRenderer]);

const MANY = 3000; // marks; more are drawn on a canvas
const PAPER = 660; // width of a chart on A4 or letter, in CSS pixels
const all = [];

/** `build(colours, width)` gives {title, option, marks, height, note, empty}: what to draw now. */
export class Figure {
  constructor(name, build) {
    Object.assign(this, {name, build, visible: false, stale: true});
    this.box = el('div', {class: 'chart', role: 'img', 'aria-label': name});
    this.note = el('p', {class: 'hint'});
    const button = (text, title, action) => el('button', {type: 'button', title, onclick: action}, text);
    this.tools = el('div', {class: 'tools'},
      el('span', {class: 'count'}, 'Drag over an area to zoom; Ctrl and wheel, too.'),
      button('Reset zoom', 'Or a double click on the chart', () => this.redraw()),
      button('SVG', 'Download this chart as SVG', () => this.exportSvg()),
      button('PNG', 'Download this chart as PNG', () => this.exportPng()));
    this.node = el('div', {class: 'figure'}, this.box, this.note, this.tools);
    all.push(this);
    new IntersectionObserver((entries) => {
      this.visible = entries[entries.length - 1].isIntersecting;
      if (this.visible && this.stale) this.draw();
    }, {rootMargin: '300px'}).observe(this.node);
    new ResizeObserver(() => { if (this.chart && this.box.clientWidth > 0) this.chart.resize(); }).observe(this.box);
  }
  /** Something has changed: draws now or, out of sight, later. */
  redraw() {
    this.stale = true;
    if (this.visible) this.draw();
  }
  draw() {
    this.stale = false;
    this.made = this.build(colours(), this.box.clientWidth || 900);
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
      this.renderer = renderer;
    }
    this.chart.resize({silent: true});
    this.chart.setOption(zoomable(option), {notMerge: true});
    this.chart.dispatchAction({type: 'takeGlobalCursor', key: 'dataZoomSelect', dataZoomSelectActive: true});
    this.box.dataset.marks = String(marks);
  }
  /** Paper gets its drawing in this very moment. */
  drawForPaper() {
    this.box.style.width = `${PAPER}px`;
    this.draw();
    if (this.chart) this.chart.getZr().flush();
  }
  drawForScreen() {
    this.box.style.width = '';
    this.redraw();
  }
  /** What is drawn, where it is zoomed to, with a heading of its own. */
  exported() {
    if (this.stale) this.draw();
    const {option, title} = this.made;
    const zoomed = this.chart.getOption().dataZoom || [];
    const zooms = zoomable(option).dataZoom.map((zoom, k) =>
      ({...zoom, ...(zoomed[k] ? {start: zoomed[k].start, end: zoomed[k].end} : {})}));
    const c = colours();
    const grid = {...option.grid, top: (option.grid.top || 40) + 26};
    const legend = option.legend && {...option.legend, top: 30};
    return {...option, grid, legend, dataZoom: zooms, backgroundColor: c.page,
      title: {text: title || this.name, left: 8, top: 6, textStyle: {color: c.text, fontSize: 14, fontWeight: 600}}};
  }
  size() { return {width: Math.max(480, this.box.clientWidth), height: this.box.clientHeight + 26}; }
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
