// SPDX-License-Identifier: Apache-2.0
// The page of `faultline explain --html`: one transfer, or the same one under two strategies, to go through.
import {el} from '../dom.js';
import {themeSwitch} from '../header.js';
import {View} from '../view.js';
import {AtWork, facts, head, parameters, terms, totals} from './below.js';
import {LanesFigure} from './figure.js';
import {Player} from './player.js';
import {Sentences} from './sentences.js';
import {StateCard} from './state.js';
import {Document} from './story.js';
import {hideTip, startTips} from './tip.js';
import {Words} from './words.js';

const PS_OF_US = 1e6;
const PAUSE = 250; // milliseconds; browsers refuse addresses that change more often

class Page {
  constructor(document) {
    this.document = document;
    this.number = 0;
    this.view = new View({history: 'replaceState', pause: PAUSE});
    this.words = new Words(document);
    this.lanes = new LanesFigure(document, this.words, (time) => {
      this.player.pause();
      this.go(document.stopAt(time));
    });
    this.lanes.windowChanged = () => this.view.changed();
    this.state = new StateCard(document, (place) => this.choosePage(place));
    this.sentences = new Sentences(document, this.words, (number) => {
      this.player.pause();
      this.go(number);
    });
    this.work = new AtWork(document, this.words);
    this.player = new Player(this);
    this.keep();
  }
  go(number) {
    hideTip();
    this.number = number;
    const {document} = this;
    const moments = document.stories.map((story) => document.moment(story, number));
    this.player.show(number, moments);
    this.state.show(moments);
    this.work.show(document.stops[number].at);
    this.sentences.show(number, !window.matchMedia('(prefers-reduced-motion: reduce)').matches && this.player.timer !== null);
    this.lanes.showInstant(document.stops[number].at);
    this.reveal();
    this.view.changed();
  }
  /** Where the lanes scroll: the one of the sentence. */
  reveal() {
    const [top, bottom] = this.lanes.told() ?? [];
    const box = this.lanesBox;
    if (top === undefined || !box || box.scrollHeight <= box.clientHeight) return;
    if (top < box.scrollTop + 40 || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  }
  zoom(factor) {
    if (factor === 0) this.lanes.zoomTo(this.lanes.whole);
    else this.lanes.zoomBy(factor);
  }
  choosePage(place) {
    if (place === null) this.state.fixed = {};
    else this.state.fixed[place.end] = place.page;
    this.go(this.number);
    if (place)
      this.state.node
        .querySelector(`[data-story="${place.story.letter}"][data-end="${place.end}"] [data-page="${place.page}"]`)
        ?.focus({preventScroll: true});
  }
  large(on = !this.isLarge) {
    this.isLarge = on;
    window.document.documentElement.classList.toggle('large', on);
    this.player.large.setAttribute('aria-pressed', String(on));
    this.lanes.redraw();
    this.state.latestFirst = on;
    this.go(this.number);
    if (on && this.view.ready) requestAnimationFrame(() => window.scrollTo(0, place.querySelector('header').offsetHeight));
    this.view.changed();
  }
  /** What is in the address: the instant, what of the time is drawn, pages, large letters. */
  keep() {
    const {view, document, lanes, state} = this;
    view.add(
      't',
      () => {
        const {at, nth} = document.stops[this.number];
        return this.number === 0 ? [] : [['', `${at / PS_OF_US}us${nth > 0 ? `,${nth}` : ''}`]];
      },
      (pairs) => {
        const [, time, nth] = String(pairs[0]?.[1]).match(/^(-?[\d.]+(?:e-\d+)?)us(?:,(\d+))?$/) ?? [];
        this.go(time === undefined ? 0 : document.stopAt(Math.round(Number(time) * PS_OF_US), Number(nth ?? 0)));
      },
    );
    view.add(
      'zoom',
      () => (lanes.isWhole() ? [] : [['', `${lanes.window.from / PS_OF_US}us..${lanes.window.to / PS_OF_US}us`]]),
      (pairs) => {
        const [, from, to] = String(pairs[0]?.[1]).match(/^(-?[\d.]+)us\.\.(-?[\d.]+)us$/) ?? [];
        lanes.zoomTo(to === undefined ? lanes.whole : {from: Number(from) * PS_OF_US, to: Number(to) * PS_OF_US});
      },
    );
    view.add(
      'page',
      () => Object.entries(state.fixed).map(([end, page]) => [end, page]),
      (pairs) => {
        state.fixed = Object.fromEntries(
          pairs
            .filter(([end, page]) => (end === 'source' || end === 'destination') && /^\d+$/.test(page))
            .map(([end, page]) => [end, Number(page)]),
        );
        this.go(this.number);
      },
    );
    view.add(
      'large',
      () => (this.isLarge ? [['', 'yes']] : []),
      (pairs) => this.large(pairs[0]?.[1] === 'yes'),
    );
  }
  nodes() {
    const {document, lanes} = this;
    const tool = (name, text, title, factor) => el('button', {type: 'button', name, title, onclick: () => this.zoom(factor)}, text);
    const two = document.stories.length > 1;
    const legend = el(
      'p',
      {class: 'legend'},
      [
        ['main', 'decides the time'],
        ['other', 'other step'],
        ['slice', 'at work'],
        ['fault', 'page fault'],
      ].map(([look, text]) => el('span', {}, el('i', {class: look}), text)),
      two
        ? document.stories.map((story, s) =>
            el('span', {}, el('i', {class: s === 0 ? 'main' : 'striped'}), `${story.letter}: ${story.strategy}`),
          )
        : null,
    );
    this.lanesBox = el('div', {class: 'lanes-box', tabindex: 0, role: 'group', 'aria-label': 'Lanes'}, lanes.node);
    const drawing = el(
      'section',
      {class: 'card', id: 'lanes'},
      el(
        'div',
        {class: 'card-head'},
        el('h2', {}, 'Who is at work when'),
        el(
          'span',
          {class: 'zooms'},
          tool('closer', 'zoom in', 'Around this instant (Z)', 0.4),
          tool('wider', 'out', 'Zoom out (X)', 2.5),
          tool('whole', 'whole', 'The whole time (W)', 0),
        ),
      ),
      legend,
      this.lanesBox,
    );
    return [
      head(document, themeSwitch(this.view)),
      this.player.node,
      el('main', {class: 'stage'}, drawing, this.sentences.node, this.state.node, this.work.node),
      totals(document),
      parameters(document),
      terms(document),
      facts(document),
    ].filter(Boolean);
  }
}

const place = document.getElementById('page');
try {
  const page = new Page(new Document(document.getElementById('data').textContent));
  place.append(...page.nodes());
  startTips();
  page.go(0);
  page.view.start();
  document.documentElement.dataset.ready = 'yes';
} catch (error) {
  place.append(el('p', {class: 'broken', role: 'alert'}, `This page cannot be shown: ${error.message}`));
  throw error;
}
