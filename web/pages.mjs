// SPDX-License-Identifier: Apache-2.0
// The program's pages, each bundled into the three texts of a PageParts: before the title, before the data, behind them.
import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {buildSync} from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));

/** Their names are those of the commands that write them. */
export const PAGES = {
  report: {constant: 'kPage', style: 'style.css', script: 'main.js'},
  explain: {constant: 'kExplainPage', style: 'explain/explain.css', script: 'explain/main.js'},
};

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

/** [head, body, tail] of a page. */
export function partsOf(name) {
  // Neither may end the element that holds it.
  const style = bundle(PAGES[name].style).replaceAll('</', '<\\/');
  const script = (notices + bundle(PAGES[name].script)).replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
  const parts = readFileSync(join(folder, 'src', 'page.html'), 'utf8').replace('{{name}}', name)
    .replace('{{style}}', () => style).replace('{{script}}', () => script).split(/\{\{title\}\}|\{\{data\}\}/);
  if (parts.length !== 3) throw new Error('page.html needs {{title}} and then {{data}}, once each');
  return parts;
}
