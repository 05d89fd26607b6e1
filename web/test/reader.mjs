// SPDX-License-Identifier: Apache-2.0
// What a reader does with a page, and what the page then shows: helpers of the tests beside it.

export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
export const show = async (page, selector) => {
  await page.locator(selector).first().scrollIntoViewIfNeeded();
  await settle(page);
};
/** The drop-down list of a section's chart with this label. */
export const choice = (page, section, label) => page.locator(`${section} label.choice`)
  .filter({has: page.locator('span', {hasText: label})}).first().locator('select');
export const chosen = (page, section, label) => choice(page, section, label).locator('option:checked').innerText();
export async function choose(page, section, label, option) {
  await choice(page, section, label).selectOption(option);
  await settle(page);
}
export const words = (page, section) => page.locator(`${section} .chart svg`).first().evaluate((svg) =>
  [...svg.querySelectorAll('text')].map((node) => node.textContent));
/** What the page was made of. */
export const dataOf = (page) => page.evaluate(() => JSON.parse(document.getElementById('data').textContent));

/** Filled marks of a chart: {x, y, width, height (pixels on the page), fill, stroke, shape: its outline wherever it stands}. */
export const marksOf = (page, section) => page.locator(`${section} .chart svg`).first().evaluate((svg) =>
  [...svg.querySelectorAll('path, rect')].map((node) => {
    const {x, y, width, height} = node.getBoundingClientRect();
    const style = getComputedStyle(node);
    const corners = (node.getAttribute('d') || '').match(/-?[\d.]+/g)?.map(Number) || [];
    const shape = corners.map((n, k) => Math.round(2 * (n - corners[k % 2]))).join(' ');
    return {x, y, width, height, shape, fill: style.fill, stroke: style.stroke, solid: Number(style.fillOpacity)};
  }).filter((mark) => mark.fill !== 'none' && mark.solid > 0));

/** Of all charts: texts that lie on each other or are cut by the edge of their chart. */
export const collisions = (page) => page.evaluate(() => {
  const found = [];
  for (const svg of document.querySelectorAll('.chart svg')) {
    const edge = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map((node) => [node.textContent, node.getBoundingClientRect()])
      .filter(([text, box]) => text.trim() && box.width > 0);
    const id = svg.closest('section').id;
    texts.forEach(([text, box], k) => {
      if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 1 || box.bottom > edge.bottom + 1) found.push(`${id}: "${text}" is cut`);
      for (const [other, another] of texts.slice(k + 1)) {
        const wide = Math.min(box.right, another.right) - Math.max(box.left, another.left);
        const high = Math.min(box.bottom, another.bottom) - Math.max(box.top, another.top);
        if (wide > 1 && high > 4) found.push(`${id}: "${text}" and "${other}" lie on each other`);
      }
    });
  }
  return found;
});

/** Runs named tests; a complaint of the browser fails the test in which it comes. Gives how many failed. */
export async function runTests(tests, complaints) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const before = complaints.length;
    try {
      await test();
      if (complaints.length > before) throw new Error(complaints.slice(before).join('\n'));
      console.log(`ok: ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED: ${name}\n${error.stack}`);
    }
  }
  return failed;
}
