import { expect, test } from 'bun:test';
import { manualPages } from '../../src/manual/manual.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { filledServer } from './venue-server.ts';

const { text } = manualPages({ formats: '', mappings: '', shipped: '' }).find(({ name }) => name === 'venue')!;
/** The rows of the table of refusals: request, body of the request, status, answer and source. */
const ROWS = [...text.matchAll(/^\| `(GET|POST) (\S+)`(?: with `(.+?)`)? \| (\d{3}) \| `(.+?)` \| (.+) \|$/gm)].map(
  ([, method, path, body, status, answer, source]) => ({ method, path: path!, body, status, answer, source: source! }),
);

test('The manual lists every refusal of the venue’s interfaces, and says where it is from or that no source was found.', async () => {
  await using server = await filledServer([[sampleMarket(), sampleSnapshot()]]);
  server.replay.clock.seek(START_MS + 60_000);
  expect(ROWS.length).toBe(text.split('## Refusals')[1]!.match(/^\| `/gm)!.length);
  expect(ROWS.length).toBeGreaterThan(25);
  for (const { method, path, body, status, answer, source } of ROWS) {
    expect(method === 'POST').toBe(body !== undefined);
    const found = await server.ask(path, body);
    expect([path, found.status, found.text]).toEqual([path, Number(status), answer!]);
    expect(source).toMatch(/^(?:[DST]\b|—)/);
  }
});
