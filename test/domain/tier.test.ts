import { expect, test } from 'bun:test';
import { DEFAULT_TIERS, GRANTS, grantsCoin, grantsRoute, type Tier, tierResource } from '../../src/domain/tier.ts';

function tier(id: string): Tier {
  return DEFAULT_TIERS.find((candidate) => candidate.id === id)!;
}

test.each<[string, string, boolean]>([
  ['free', 'btc', true],
  ['free', 'eth', false],
  ['free', 'BTC', false],
  ['free', '', false],
  ['starter', 'eth', true],
  ['starter', 'sol', false],
  ['pro', 'xrp', true],
  ['pro', 'doge', false],
  ['enterprise', 'btc', true],
  ['enterprise', 'doge', true],
])('%s and the coin %j: %p', (id, coin, granted) => {
  expect(grantsCoin(tier(id), coin)).toBe(granted);
});

test.each<[string, readonly string[]]>([
  ['free', ['markets', 'prices']],
  ['starter', ['markets', 'prices', 'snapshots', 'quotes']],
  ['pro', ['markets', 'prices', 'snapshots', 'quotes', 'export', 'replay']],
  ['enterprise', ['markets', 'prices', 'snapshots', 'quotes', 'export', 'replay']],
])('%s grants the routes %j', (id, routes) => {
  expect(GRANTS.filter((grant) => grantsRoute(tier(id), grant))).toEqual(
    GRANTS.filter((grant) => routes.includes(grant)),
  );
});

test('a tier without coins or routes grants none: only a missing list grants all', () => {
  const nothing: Tier = { ...tier('free'), coins: [], routes: [] };
  expect(grantsCoin(nothing, 'btc')).toBe(false);
  expect(grantsRoute(nothing, 'markets')).toBe(false);
  expect(tierResource(nothing)).toMatchObject({ coins: [], routes: [] });
});
