// SPDX-License-Identifier: Apache-2.0
// The page: the question, the answers in the order of the experiment's reports, then everything behind them.
import {readRun} from './data.js';
import {el} from './dom.js';
import {Filters} from './filters.js';
import {configurationSection, metricsSection} from './configuration.js';
import {header} from './header.js';
import {limitsSection} from './limits.js';
import {explorerSection, reportSections} from './reports.js';
import {pointsSection, remarksSection} from './points.js';
import {seriesSection} from './series.js';
import {View} from './view.js';

function draw(page) {
  const run = readRun(document.getElementById('data').textContent);
  const view = new View();
  const filters = new Filters(run, view);
  page.append(...[
    header(run, view),
    el('main', {},
      filters.element(),
      ...reportSections(run, filters, view),
      limitsSection(run, filters, view),
      explorerSection(run, filters, view),
      seriesSection(run, filters, view),
      pointsSection(run, filters, view),
      remarksSection(run),
      configurationSection(run),
      metricsSection(run)),
    el('footer', {}, `Written by faultline ${run.version}${run.commit ? ` (${run.commit})` : ''}. `
      + 'This file holds its data and its program, and loads nothing. Charts by Apache ECharts.'),
  ]);
  view.start();
  document.documentElement.dataset.ready = 'yes';
}

const page = document.getElementById('page');
try {
  draw(page);
} catch (error) {
  page.append(el('p', {class: 'broken', role: 'alert'}, `This page cannot be shown: ${error.message}`));
  throw error;
}
