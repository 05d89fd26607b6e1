// SPDX-License-Identifier: Apache-2.0
// What the page has beside the story itself: the head, who is at work, where the time went, parameters and terms.
import {el, plainTable} from '../dom.js';
import {shown, tickText, timeText} from '../format.js';
import {instantText, us} from './story.js';

const OUTCOMES = {
  done: 'It took',
  failed: 'It FAILED after',
  refused: 'It was REFUSED after',
  unfinished: 'It did NOT END: the run was over after',
};

export function head(document, switches) {
  const two = document.stories.length > 1;
  const outcomes = document.stories.map((story) =>
    el(
      'li',
      {class: story.outcome === 'done' ? '' : 'bad-outcome'},
      two ? el('b', {class: 'letter'}, story.letter) : null,
      el('b', {}, story.strategy),
      `: ${OUTCOMES[story.outcome] ?? story.outcome} ${timeText(us(story.end - story.begin))}${story.why ? `: ${story.why}` : ''}. `,
      story.buffers.length > 0 && !story.told.some((told) => told.fault) ? 'The device met no page fault in these buffers. ' : '',
      story.cut ? el('strong', {}, `${story.cut} `) : '',
      el('span', {class: 'meaning'}, story.meaning),
    ),
  );
  return el(
    'header',
    {},
    el('div', {class: 'top'}, el('span', {class: 'name'}, `Faultline · explain ${document.experiment}`), switches),
    el('h1', {}, `${document.title}${two ? ', under two strategies' : ''}`),
    el('ul', {class: 'outcomes'}, outcomes),
  );
}

/** The text of the lanes at an instant. */
export class AtWork {
  constructor(document, words) {
    Object.assign(this, {document, words});
    this.list = el('ul', {class: 'at-work'});
    this.node = el('section', {class: 'card', id: 'work'}, el('h2', {}, 'At work now'), this.list);
  }
  show(at) {
    const {stories} = this.document;
    const items = stories.flatMap((story) =>
      story.atWork(at).map((event) => {
        const lane = story.lanes[event.lane];
        return el(
          'li',
          {},
          stories.length > 1 ? el('b', {class: 'letter'}, story.letter) : null,
          el('b', {}, `${lane.router ? 'router' : 'node'} ${lane.node} ${lane.name}`),
          `: ${event.label}`,
          event.from < event.to ? el('small', {}, ` ${instantText(event.from)} to ${instantText(event.to)}`) : null,
          this.words.costs(event.cost),
        );
      }),
    );
    this.list.replaceChildren(...(items.length > 0 ? items : [el('li', {}, 'Nobody, for this transfer.')]));
  }
}

const totalOf = (story, cause) => story.totals.find((each) => each.cause === cause) ?? {ps: 0, share: 0, steps: []};

/** The steps of a cause, with each story's time; null if there are fewer than two. */
function stepsOf(stories, cause) {
  const steps = [...new Set(stories.flatMap((story) => (totalOf(story, cause).steps ?? []).map(({step}) => step)))];
  if (steps.length < 2) return null;
  const timeOf = (story, step) => totalOf(story, cause).steps.find((each) => each.step === step)?.ps ?? 0;
  const timesOf = (step) => stories.map((story) => (timeOf(story, step) === 0 ? '–' : timeText(us(timeOf(story, step)))));
  return el('small', {}, steps.map((step) => `${step} ${timesOf(step).join(' / ')}`).join(', '));
}

export function totals(document) {
  const {stories} = document;
  const two = stories.length > 1;
  const causes = [...new Set(stories.flatMap((story) => story.totals.map((total) => total.cause)))];
  const longest = Math.max(1, ...stories.map((story) => story.end - story.begin));
  const rows = causes.flatMap((cause) =>
    stories.map((story, s) => {
      const total = totalOf(story, cause);
      return el(
        'tr',
        {},
        s === 0 ? el('th', {scope: 'rowgroup', rowspan: stories.length}, cause, ' ', stepsOf(stories, cause)) : null,
        two ? el('td', {}, el('b', {class: 'letter'}, story.letter)) : null,
        el(
          'td',
          {class: 'total-bar'},
          total.ps === 0
            ? null
            : el('div', {class: s === 0 ? 'solid' : 'striped', style: `width:${((100 * total.ps) / longest).toFixed(2)}%`}),
        ),
        el('td', {class: 'number'}, total.ps === 0 ? '–' : timeText(us(total.ps))),
        el('td', {class: 'number'}, total.ps === 0 ? '–' : `${total.share.toFixed(1)} %`),
      );
    }),
  );
  const all = stories.map((story, s) =>
    el(
      'tr',
      {class: 'sum'},
      s === 0 ? el('th', {scope: 'rowgroup', rowspan: stories.length}, 'in all') : null,
      two ? el('td', {}, el('b', {class: 'letter'}, story.letter)) : null,
      el('td', {class: 'total-bar'}),
      el('td', {class: 'number'}, timeText(us(story.end - story.begin))),
      el('td', {class: 'number'}, '100 %'),
    ),
  );
  return el(
    'section',
    {class: 'card', id: 'totals'},
    el('h2', {}, 'Where the time went'),
    el('table', {class: 'totals'}, el('tbody', {}, rows, all)),
  );
}

export function parameters(document) {
  const rows = Object.entries(document.parameters).map(([name, {value, description, source}]) => [
    el('code', {id: `parameter-${name}`, tabindex: -1}, name),
    shown(value),
    description,
    source || '–',
  ]);
  return rows.length === 0
    ? null
    : el(
        'details',
        {class: 'card', id: 'parameters'},
        el('summary', {}, el('h2', {}, 'Parameters'), ` that the times are made of: ${rows.length}`),
        plainTable(['parameter', 'value', 'what it is', 'source'], rows),
      );
}

export function terms(document) {
  const list = Object.entries(document.terms);
  return list.length === 0
    ? null
    : el(
        'details',
        {class: 'card', id: 'terms'},
        el('summary', {}, el('h2', {}, 'Terms'), `: ${list.length}`),
        el(
          'dl',
          {class: 'terms'},
          list.flatMap(([name, meaning]) => [el('dt', {}, name), el('dd', {}, meaning)]),
        ),
      );
}

export function facts(document) {
  const lines = document.stories.flatMap((story) =>
    story.buffers.map(
      (buffer) =>
        `${document.stories.length > 1 ? `${story.letter}: ` : ''}${buffer.end}: ${tickText(buffer.bytes, 'B')} at ${buffer.address} ` +
        `of ‘${buffer.process}’ on node ${buffer.node}, ` +
        `${buffer.page_count} page${buffer.page_count === 1 ? '' : 's'}, translated by ${buffer.table}`,
    ),
  );
  const [story] = document.stories;
  return el(
    'footer',
    {},
    el(
      'p',
      {},
      `Transfer ${story.number} of ${story.planned} of experiment ${document.experiment}${document.question ? ` (${document.question})` : ''}; ` +
        `${document.stories.map((each) => each.point).join(' and ')}; seed ${document.seed}. Times are since the post.`,
    ),
    lines.map((line) => el('p', {}, line)),
    el('p', {}, `Written by ${document.program}. This file holds its data and its program, and loads nothing. Drawn by Apache ECharts.`),
  );
}
