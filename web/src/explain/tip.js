// SPDX-License-Identifier: Apache-2.0
// What is told of something under the pointer, under the finger, or that has the keyboard's focus.
import {el} from '../dom.js';

const told = new WeakMap(); // of an element what makes its tip
const box = el('div', {class: 'tip-box', id: 'tip', role: 'tooltip', hidden: true});
let anchor = null;

/** `node` has a tip from now on. `build()` gives what is in it. */
export function withTip(node, build) {
  told.set(node, build);
  node.dataset.tip = '';
  return node;
}

/** Shows content at a place of the window: below it or, where there is no room, above. */
export function showTip(content, {left, top, bottom}) {
  box.replaceChildren(...[content].flat());
  box.hidden = false;
  const {offsetWidth: wide, offsetHeight: high} = box;
  const below = bottom + 8;
  box.style.left = `${Math.max(6, Math.min(left, window.innerWidth - wide - 6))}px`;
  box.style.top = `${below + high <= window.innerHeight - 4 ? below : Math.max(4, top - 8 - high)}px`;
}

export function hideTip() {
  box.hidden = true;
  anchor?.removeAttribute('aria-describedby');
  anchor = null;
}

function show(event) {
  const node = event.target.closest?.('[data-tip]');
  if (!node) {
    if (event.type === 'pointerdown' && !box.contains(event.target)) hideTip();
    return;
  }
  if (node === anchor) return;
  hideTip();
  anchor = node;
  node.setAttribute('aria-describedby', 'tip');
  showTip(told.get(node)(), node.getBoundingClientRect());
}

/** Once, when the page is there. */
export function startTips() {
  document.body.append(box);
  for (const type of ['pointerover', 'focusin', 'pointerdown']) document.addEventListener(type, show);
  document.addEventListener('pointerout', (event) => {
    if (anchor && event.target.closest?.('[data-tip]') === anchor && document.activeElement !== anchor) hideTip();
  });
  document.addEventListener('focusout', hideTip);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') hideTip();
  });
  window.addEventListener(
    'scroll',
    () => {
      if (!box.hidden) hideTip();
    },
    {capture: true, passive: true},
  );
}
