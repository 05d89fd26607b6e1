// SPDX-License-Identifier: Apache-2.0
// node web/bundle.mjs PAGE.cpp: the page's style and program, bundled and made small, as a C++ source.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {buildSync} from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2];

function bundle(entry) {
  const result = buildSync({
    entryPoints: [join(folder, 'src', entry)], absWorkingDir: folder, bundle: true, minify: true, write: false,
    format: 'iife', target: ['chrome109', 'firefox115', 'safari16'], legalComments: 'eof', logLevel: 'warning',
  });
  return result.outputFiles[0].text;
}

// What the licences of the parts ask to be said wherever the parts are.
const said = (file) => readFileSync(join(folder, 'node_modules', file), 'utf8').replaceAll('*/', '* /').trim();
const notices = `/*!\n${said('echarts/NOTICE')}\nLicensed under the Apache License, Version 2.0.\n\nZRender: ${said('zrender/LICENSE')}\n*/\n`;

// Neither may end the element that holds it.
const style = bundle('style.css').replaceAll('</', '<\\/');
const script = (notices + bundle('main.js')).replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const parts = readFileSync(join(folder, 'src', 'page.html'), 'utf8')
  .replace('{{style}}', () => style).replace('{{script}}', () => script).split(/\{\{title\}\}|\{\{data\}\}/);
if (parts.length !== 3) throw new Error('page.html needs {{title}} and then {{data}}, once each');

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
mkdirSync(dirname(target), {recursive: true});
writeFileSync(target, `// Made by web/bundle.mjs.
#include "src/results/html_report.hpp"
const faultline::results::PageParts faultline::results::kPage{
${parts.map(literal).join(',\n')}};
`);
