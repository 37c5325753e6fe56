import { expect, test } from 'bun:test';
import { ROUTES } from '../../src/http/routes.ts';
import { startService } from './service.ts';

const asRouted = (path: string) => path.replace(/\{(\w+)\}/g, ':$1');

test('the router has the routes of the list, and besides them only the refusal of all others', async () => {
  await using service = startService();
  const routed = service.app.routes.map(({ method, path }) => `${method} ${path}`);
  const listed = Object.values(ROUTES).map(({ path }) => `GET ${asRouted(path)}`);
  expect(routed.filter((route) => !route.startsWith('ALL ')).sort()).toEqual(listed.sort());
  expect(routed.filter((route) => route.startsWith('ALL ')).sort()).toEqual(['ALL /v1', 'ALL /v1/*']);
});

test('every route below /v1 asks for a grant, but for the tiers; none outside does', () => {
  const asking = Object.values(ROUTES).filter(({ grant }) => grant !== undefined);
  const below = Object.values(ROUTES).filter(({ path }) => path.startsWith('/v1/') && path !== ROUTES.tiers.path);
  expect(asking).toEqual(below);
});
