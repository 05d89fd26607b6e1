// SPDX-License-Identifier: Apache-2.0
// node web/bundle.mjs PAGE.cpp: the pages' styles and programs, bundled and made small, as a C++ source.
import {mkdirSync, writeFileSync} from 'node:fs';
import {dirname} from 'node:path';
import {PAGES, partsOf} from './pages.mjs';

const target = process.argv[2];

// Pieces, because compilers limit the length of one literal.
const DELIMITER = 'faultline_page';
function literal(text) {
  if (text.includes(`)${DELIMITER}"`)) throw new Error('the page holds the delimiter of its literal');
  const pieces = [];
  for (let at = 0; at < text.length; at += 16000) {
    pieces.push(`R"${DELIMITER}(${text.slice(at, at + 16000)})${DELIMITER}"`);
  }
  return pieces.join('\n');
}

const constants = Object.entries(PAGES).map(([name, {constant}]) => `const faultline::results::PageParts faultline::results::${constant}{
${partsOf(name).map(literal).join(',\n')}};
`);
mkdirSync(dirname(target), {recursive: true});
writeFileSync(target, `// Made by web/bundle.mjs.
#include "src/results/html_report.hpp"
${constants.join('')}`);
