// SPDX-License-Identifier: Apache-2.0
// The whole story as a list of sentences, the current one marked.
import {el} from '../dom.js';
import {timeText} from '../format.js';
import {instantText, us} from './story.js';

export const whoText = (told) => `node ${told.node}${told.who ? ` ${told.who}` : ''}`;

export class Sentences {
  /** `go(stop)`: the reader wants to be there. */
  constructor(document, words, go) {
    this.document = document;
    this.lines = new Map(); // of stops
    const two = document.stories.length > 1;
    this.list = el('ol', {class: 'lines', tabindex: -1});
    document.stops.forEach((stop, number) => {
      if (!stop.story) return;
      const told = stop.story.told[stop.told];
      const costs = told.cost.map((cost) => words.costText(cost)).join(', ');
      const line = el(
        'li',
        {class: `${told.fault ? 'fault' : ''}`},
        el(
          'button',
          {type: 'button', tabindex: -1, 'data-stop': number},
          el('span', {class: 'when'}, instantText(told.at)),
          el('span', {class: 'who'}, two ? el('b', {class: 'letter'}, stop.story.letter) : null, whoText(told)),
          told.took > 0 ? el('span', {class: 'took'}, `took ${timeText(us(told.took))}`) : null,
          el('span', {class: 'what'}, told.fault ? '◆ ' : '', told.text),
          costs ? el('span', {class: 'of'}, costs) : null,
        ),
      );
      this.lines.set(number, line);
      this.list.append(line);
    });
    this.list.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button) go(Number(button.dataset.stop));
    });
    new ResizeObserver(() => this.reveal(this.current, 'instant')).observe(this.list); // large letters, a higher bar above
    this.numbers = [...this.lines.keys()];
    this.node = el('section', {class: 'card', id: 'sentences'}, el('h2', {}, 'The story'), this.list);
  }
  /** Marks the last sentence at or before a stop, and has it in sight. */
  show(number, smooth) {
    let low = -1;
    for (let step = 1 << 20; step > 0; step >>= 1) if (low + step < this.numbers.length && this.numbers[low + step] <= number) low += step;
    const line = low < 0 ? null : this.lines.get(this.numbers[low]);
    if (line === this.current) return;
    for (const [node, on] of [
      [this.current, false],
      [line, true],
    ]) {
      if (!node) continue;
      node.classList.toggle('current', on);
      node.firstChild.tabIndex = on ? 0 : -1;
      if (on) node.setAttribute('aria-current', 'step');
      else node.removeAttribute('aria-current');
    }
    this.current = line;
    if (!line) {
      this.list.scrollTop = 0;
      return;
    }
    this.reveal(line, smooth ? 'smooth' : 'instant');
  }
  /** Scrolls the list alone: the page stays where it is. Lines that have not been in sight get their height only then. */
  reveal(line, behavior, tries = 5) {
    if (!line || line !== this.current || tries === 0) return;
    const {list} = this;
    const top = line.offsetTop - (list.clientHeight - line.offsetHeight) / 3;
    list.scrollTo({top, behavior});
    if (behavior === 'instant') requestAnimationFrame(() => this.reveal(line, behavior, tries - 1));
    else list.addEventListener('scrollend', () => this.reveal(line, 'instant'), {once: true});
  }
}
