import { expect, test } from 'bun:test';
import { assetPath, COPY_SCRIPT, FRAME_STYLE, LOGO, REPLAY_SCRIPT, STYLE } from '../../src/http/pages/assets.ts';
import { FILES as MANUAL_FILES } from '../../src/manual/manual.ts';
import { VIEW_SCRIPTS, WORKER_SCRIPT } from '../../src/web/view/view-scripts.ts';
import { ROUTES } from '../support/routes.ts';
import { startService } from './service.ts';

const asRouted = (path: string) => path.replace(/\{(\w+)\}/g, ':$1');

const FILES = [
  'GET /docs/scripts/:name',
  'GET /sdk/:name',
  ...[STYLE, FRAME_STYLE, LOGO, COPY_SCRIPT, REPLAY_SCRIPT, ...VIEW_SCRIPTS, WORKER_SCRIPT].map(
    (asset) => `GET ${assetPath(asset)}`,
  ),
  'GET /view',
  'GET /view/:coin/:market',
  ...Object.keys(MANUAL_FILES).map((name) => `GET /docs/${name}`),
];

test('the router has the routes of the API document, the files of its pages, and the refusal of all others', async () => {
  await using service = startService();
  const routed = service.app.routes.map(({ method, path }) => `${method} ${path}`);
  const listed = Object.values(ROUTES).map(({ path, method }) => `${method.toUpperCase()} ${asRouted(path)}`);
  expect(routed.filter((route) => !route.startsWith('ALL ')).sort()).toEqual([...listed, ...FILES].sort());
  expect(routed.filter((route) => route.startsWith('ALL ')).sort()).toEqual(['ALL /v1', 'ALL /v1/*']);
});

const UNGRANTED = /^\/v1\/(?:billing|account)(?:\/|$)/;

test('every route under /v1 except billing and account needs a grant and takes asOf; none outside does', () => {
  const withAsOf = Object.values(ROUTES).filter(({ query }) => query.includes('asOf'));
  const granted = Object.values(ROUTES).filter(({ grant }) => grant !== undefined);
  const below = Object.values(ROUTES).filter(({ path }) => path.startsWith('/v1/') && !UNGRANTED.test(path));
  expect(granted).toEqual(below);
  expect(withAsOf).toEqual(below);
});
