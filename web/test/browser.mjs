// SPDX-License-Identifier: Apache-2.0
// Chromium without a network, and a page of `faultline report` in it.
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export const launch = () => chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ARGUMENTS});

/** A page, and the list of what it should not have done: messages, errors, requests. */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({acceptDownloads: true, viewport: {width: 1280, height: 900}, ...options});
  await context.setOffline(true);
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('html[data-ready]', {timeout: 60000});
  return {page, complaints};
}
