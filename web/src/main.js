// SPDX-License-Identifier: Apache-2.0
// The page: the question, the answers in the order of the experiment's reports, then everything behind them.
import {readRun} from './data.js';
import {el} from './dom.js';
import {Filters} from './filters.js';
import {configurationSection, metricsSection} from './configuration.js';
import {header} from './header.js';
import {explorerSection, reportSections} from './reports.js';
import {pointsSection, remarksSection} from './points.js';
import {seriesSection} from './series.js';

function draw(page) {
  const run = readRun(document.getElementById('data').textContent);
  const filters = new Filters(run);
  page.append(...[
    header(run),
    el('main', {},
      filters.element(),
      ...reportSections(run, filters),
      explorerSection(run, filters),
      seriesSection(run, filters),
      pointsSection(run, filters),
      remarksSection(run),
      configurationSection(run),
      metricsSection(run)),
    el('footer', {}, `Written by faultline ${run.version}${run.commit ? ` (${run.commit})` : ''}. `
      + 'This file holds its data and its program, and loads nothing. Charts by Apache ECharts.'),
  ]);
  document.documentElement.dataset.ready = 'yes';
}

const page = document.getElementById('page');
try {
  draw(page);
} catch (error) {
  page.append(el('p', {class: 'broken', role: 'alert'}, `This page cannot be shown: ${error.message}`));
  throw error;
}
