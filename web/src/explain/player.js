// SPDX-License-Identifier: Apache-2.0
// The bar that goes through the story: buttons, slider, keys, and the sentence of the instant in large letters.
import {el} from '../dom.js';
import {timeText} from '../format.js';
import {whoText} from './sentences.js';
import {changeText} from './state.js';
import {instantText, us} from './story.js';

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];
const QUIET = 600; // milliseconds of an instant without a sentence
const SENTENCE = 1100; // of one with, and
const LETTER = 28; // of each letter

const KEYS = [
  ['Space', 'play, pause'],
  ['→ ←', 'one step on, one back'],
  ['Shift → ←', 'ten steps'],
  ['Home End', 'the beginning, the end'],
  ['F Shift F', 'the next page fault, the one before'],
  ['+ −', 'faster, slower'],
  ['Z X', 'zoom in around this instant, out'],
  ['W', 'the whole time'],
  ['L', 'large letters'],
  ['↑ ↓', 'in the map of pages: another page'],
  ['Esc', 'close what is explained'],
  ['?', 'this list'],
];

export class Player {
  /** `page`: {document, words, go(number), zoom(factor or 0 for the whole), large()}. */
  constructor(page) {
    Object.assign(this, {page, number: 0, speed: 1, timer: null});
    const {document} = page;
    const last = document.stops.length - 1;
    const button = (name, text, title, action) => el('button', {type: 'button', name, title, 'aria-label': title, onclick: action}, text);
    this.playButton = button('play', '', '', () => this.toggle());
    this.playButton.classList.add('play');
    this.faultButton = button('fault', ['◆ ', el('span', {class: 'long'}, 'next '), 'fault'], 'Next page fault (F)', () => this.fault(1));
    this.faultButton.disabled = !document.stops.some((stop) => stop.fault);
    this.speedText = el('output', {class: 'speed', 'aria-label': 'speed'}, '1×');
    this.slider = el('input', {
      type: 'range',
      min: 0,
      max: last,
      step: 1,
      value: 0,
      'aria-label': 'Instant',
      oninput: () => {
        this.pause();
        page.go(Number(this.slider.value));
      },
    });
    const faults = document.stops.flatMap((stop, i) => (stop.fault ? [i] : []));
    const ticks = faults.length > 60 ? [] : faults.map((i) => el('i', {style: `left:${last > 0 ? (100 * i) / last : 0}%`}, '◆'));
    this.clock = el('output', {class: 'clock', 'aria-label': 'time since the post'});
    this.count = el('span', {class: 'count'});
    this.now = el('div', {class: 'now', id: 'now', 'aria-live': 'polite'});
    this.help = el(
      'dialog',
      {class: 'help', 'aria-label': 'Keys'},
      el('h2', {}, 'Keys'),
      el(
        'dl',
        {},
        KEYS.flatMap(([keys, meaning]) => [
          el(
            'dt',
            {},
            keys.split(' ').map((key) => el('kbd', {}, key)),
          ),
          el('dd', {}, meaning),
        ]),
      ),
      el('form', {method: 'dialog'}, el('button', {}, 'Close')),
    );
    this.large = button('large', 'A+', 'Large letters, for a projector (L)', () => page.large());
    this.node = el(
      'div',
      {class: 'player card', role: 'region', 'aria-label': 'Go through the story'},
      el(
        'div',
        {class: 'bar'},
        button('first', '|◀', 'To the beginning (Home)', () => this.to(0)),
        button('back', '◀', 'One step back (←)', () => this.by(-1)),
        this.playButton,
        button('on', '▶', 'One step on (→)', () => this.by(1)),
        button('last', '▶|', 'To the end (End)', () => this.to(last)),
        this.faultButton,
        el(
          'span',
          {class: 'speeds'},
          button('slower', '−', 'Slower (−)', () => this.faster(-1)),
          this.speedText,
          button('faster', '+', 'Faster (+)', () => this.faster(1)),
        ),
        this.clock,
        this.count,
        this.large,
        button('help', '?', 'Keys (?)', () => this.help.showModal()),
      ),
      el('div', {class: 'slide'}, this.slider, el('span', {class: 'ticks', 'aria-hidden': 'true'}, ticks)),
      this.now,
      this.help,
    );
    // What sticks below it has to know how high it is.
    new ResizeObserver(() => window.document.documentElement.style.setProperty('--player', `${this.node.offsetHeight}px`)).observe(
      this.node,
    );
    window.addEventListener('keydown', (event) => this.key(event));
    this.pause();
  }
  get last() {
    return this.page.document.stops.length - 1;
  }
  to(number) {
    this.pause();
    this.page.go(Math.max(0, Math.min(this.last, number)));
  }
  by(steps) {
    this.to(this.number + steps);
  }
  fault(direction) {
    const {stops} = this.page.document;
    const found =
      direction > 0 ? this.page.document.nextFault(this.number) : stops.slice(0, this.number).findLastIndex((stop) => stop.fault);
    if (found >= 0) this.to(found);
    else this.count.textContent = direction > 0 ? 'no fault after this' : 'no fault before this';
  }
  faster(direction) {
    this.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + direction))];
    this.speedText.textContent = `${this.speed}×`;
  }
  toggle() {
    if (this.timer !== null) {
      this.pause();
      return;
    }
    if (this.number === this.last) this.page.go(0);
    this.showPlaying(true);
    this.wait();
  }
  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.showPlaying(false);
  }
  showPlaying(on) {
    this.playButton.textContent = on ? '⏸ pause' : '▶ play';
    this.playButton.title = on ? 'Pause (Space)' : 'Play (Space)';
    this.playButton.setAttribute('aria-label', this.playButton.title);
    this.now.setAttribute('aria-live', on && this.speed > 1 ? 'off' : 'polite');
  }
  // As long as it takes to read the sentence.
  wait() {
    const {stops} = this.page.document;
    const stop = stops[this.number];
    const time = stop.story ? SENTENCE + LETTER * stop.story.told[stop.told].text.length : QUIET;
    this.timer = setTimeout(() => {
      this.page.go(this.number + 1);
      if (this.number >= this.last) this.pause();
      else this.wait();
    }, time / this.speed);
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const tag = event.target.tagName;
    if (tag === 'SELECT' || (tag === 'INPUT' && event.target.type !== 'range' && event.target.type !== 'radio')) return;
    if (event.key === ' ' && (tag === 'BUTTON' || tag === 'SUMMARY') && !event.target.closest('.lines')) return; // they are pressed by it
    if (tag === 'INPUT' && event.target.type === 'radio' && event.key.startsWith('Arrow')) return;
    const steps = event.shiftKey ? 10 : 1;
    const actions = {
      ' ': () => this.toggle(),
      ArrowRight: () => this.by(steps),
      ArrowLeft: () => this.by(-steps),
      Home: () => this.to(0),
      End: () => this.to(this.last),
      f: () => this.fault(1),
      F: () => this.fault(event.shiftKey ? -1 : 1),
      '+': () => this.faster(1),
      '=': () => this.faster(1),
      '-': () => this.faster(-1),
      '−': () => this.faster(-1),
      z: () => this.page.zoom(0.4),
      x: () => this.page.zoom(2.5),
      w: () => this.page.zoom(0),
      l: () => this.page.large(),
      '?': () => this.help.showModal(),
    };
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }
  /** `moments`: of the stories. */
  show(number, moments) {
    this.number = number;
    const {document, words} = this.page;
    const stop = document.stops[number];
    const text = instantText(stop.at);
    this.clock.textContent = text;
    this.count.textContent = `step ${number + 1} of ${document.stops.length}`;
    this.slider.value = String(number);
    const told = moments.map((moment) => moment.told);
    this.slider.setAttribute('aria-valuetext', `${text}: ${stop.story ? stop.story.told[stop.told].text : 'no sentence'}`);
    this.now.replaceChildren(
      ...told.map((one, s) => {
        const story = document.stories[s];
        const letter = document.stories.length > 1 ? el('b', {class: 'letter'}, story.letter) : null;
        const fresh = stop.story === story;
        // Of an instant without a sentence, what has changed is what there is to say.
        const [change] = stop.story ? [] : moments[s].changed;
        const more = moments[s].changed.length - 1;
        const news = change ? el('p', {class: 'what news'}, `◆ ${changeText(story, change)}${more > 0 ? `, and ${more} more` : ''}`) : null;
        if (!one)
          return el(
            'div',
            {class: 'idle'},
            news,
            el('p', {}, letter, stop.at < story.begin ? 'It has not begun.' : 'Nothing is told yet.'),
          );
        const over = story.end <= stop.at && !fresh ? ` It was over at ${instantText(story.end)}: ${story.outcome}.` : '';
        return el(
          'div',
          {class: `saying${one.fault && fresh ? ' fault' : ''}${fresh ? '' : ' idle'}`},
          news,
          el(
            'p',
            {class: 'meta'},
            letter,
            one.fault && fresh ? el('b', {class: 'mark'}, '◆ page fault') : null,
            el('b', {}, whoText(one)),
            one.took > 0 ? ` · took ${timeText(us(one.took))}${one.label ? `: ${one.label}` : ''}` : '',
            fresh ? '' : ` · told at ${instantText(one.at)}`,
          ),
          el('p', {class: 'what'}, words.sentence(one.text), over),
          words.costs(one.cost),
        );
      }),
    );
  }
}
