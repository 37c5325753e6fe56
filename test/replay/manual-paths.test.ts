import { expect, test } from 'bun:test';
import { dataApiController } from '../../src/http/replay/data-api.ts';
import { gammaController } from '../../src/http/replay/gamma.ts';
import { siteController } from '../../src/http/replay/site.ts';
import { venueOrdersController } from '../../src/http/replay/venue-orders.ts';
import { venueRestController } from '../../src/http/replay/venue-rest.ts';
import { manualPages } from '../../src/manual/manual.ts';
import { GammaCatalog } from '../../src/replay/gamma/catalog.ts';
import { Replays } from '../../src/replay/replays.ts';
import { temporaryArchive } from '../support/archive.ts';

const { text } = manualPages({ formats: '', mappings: '', shipped: '' }).find(({ name }) => name === 'venue')!;
/** Paths of several hosts at one root: each host has its own. */
const PREFIX = /^\/(?:clob|gamma|data-api)(?=\/|$)/;

test('The manual lists every path of the venue that a replay answers, by its host, and no other.', () => {
  using held = temporaryArchive();
  const replays = new Replays(held.archive, { monotonicMs: () => 0, wallMs: () => 0 });
  const deps = { replays, catalog: new GammaCatalog(), queueOf: () => replays.queue, deskOf: () => undefined };
  for (const [host, { routes }, others] of [
    ['clob', venueRestController(deps), ['/markets', '/markets/{}']],
    ['gamma-api', gammaController(deps), []],
    ['data-api', dataApiController(deps), []],
    ['', siteController(deps), []],
  ] as const) {
    const name = [...(host === '' ? [] : [host]), 'polymarket.com'].join('.');
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` |`))!;
    const listed = [...row.matchAll(/`(\/[^`]*)`/g)].map(([, path]) => path!.replace(/\{[^}]*\}/g, '{}'));
    const answered = routes.map(({ path }) => path.replace(PREFIX, '').replace(/:\w+/g, '{}'));
    const expected = new Set<string>([...answered, ...others].filter((path) => path !== ''));
    expect([name, listed.sort()]).toEqual([name, [...expected].sort()]);
  }
});

test('The manual lists every path of the order side, and no other.', () => {
  using held = temporaryArchive();
  const replays = new Replays(held.archive, { monotonicMs: () => 0, wallMs: () => 0 });
  const { routes } = venueOrdersController({
    replays,
    catalog: new GammaCatalog(),
    queueOf: () => replays.queue,
    deskOf: () => undefined,
  });
  const page = manualPages({ formats: '', mappings: '', shipped: '' }).find(({ name }) => name === 'paper')!;
  const section = page.text.split("## The venue's paths")[1]!.split('\n## ')[0]!;
  const listed = [...section.matchAll(/`((?:GET|POST|DELETE) \/[^`]*)`/g)].map(([, name]) =>
    name!.replace(/\{[^}]*\}/g, '{}'),
  );
  const answered = routes.map(({ method, path }) => `${method} ${path.replace(PREFIX, '').replace(/:\w+/g, '{}')}`);
  expect(listed.sort()).toEqual([...new Set(answered)].sort());
});
