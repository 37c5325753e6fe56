import { expect, test } from 'bun:test';
import { Value } from 'typebox/value';
import { assetIdOf, type Market, MarketResource, marketResource } from '../../src/domain/market.ts';

const unresolved: Market = {
  conditionId: '0xabc',
  marketId: '0',
  eventId: '0',
  slug: 'btc-updown-5m-1776323400',
  symbol: 'btc',
  timeframe: '5m',
  clobTokenIds: ['111', '222'],
  active: true,
  closed: false,
  winner: undefined,
  startMs: 1_776_323_400_000,
  endMs: 1_776_323_700_000,
  volume: 0,
  liquidity: 12.5,
  resolvedMs: undefined,
  priceStart: undefined,
  priceEnd: undefined,
  createdMs: 1_776_323_000_000,
  updatedMs: 1_776_323_404_123,
};

test('an unresolved market is written with null for unknown values, and ISO times', () => {
  const resource = marketResource(unresolved);
  expect(resource).toEqual({
    conditionId: '0xabc',
    marketId: '0',
    eventId: '0',
    slug: 'btc-updown-5m-1776323400',
    symbol: 'btc',
    timeframe: '5m',
    outcomes: ['up', 'down'],
    clobTokenIds: ['111', '222'],
    active: true,
    closed: false,
    winner: null,
    startTime: '2026-04-16T07:10:00.000Z',
    endTime: '2026-04-16T07:15:00.000Z',
    volume: 0,
    liquidity: 12.5,
    resolvedAt: null,
    priceStart: null,
    priceEnd: null,
    createdAt: '2026-04-16T07:03:20.000Z',
    updatedAt: '2026-04-16T07:10:04.123Z',
  });
});

test('a resolved market has its winner, time of resolution, and start and end price', () => {
  const resolved: Market = {
    ...unresolved,
    active: false,
    closed: true,
    winner: 'down',
    resolvedMs: 1_776_323_760_000,
    priceStart: 76_211.8,
    priceEnd: 76_200,
  };
  expect(marketResource(resolved)).toMatchObject({
    active: false,
    closed: true,
    winner: 'down',
    resolvedAt: '2026-04-16T07:16:00.000Z',
    priceStart: 76_211.8,
    priceEnd: 76_200,
  });
});

test('a written market has exactly the documented fields', () => {
  const fields = Object.keys(marketResource(unresolved)).sort();
  expect(fields).toEqual(Object.keys(MarketResource.properties).sort());
  expect(fields).toEqual([...(MarketResource.required ?? [])].sort());
  const { startTime, endTime, createdAt, updatedAt, ...rest } = marketResource(unresolved);
  const { startTime: s, endTime: e, createdAt: c, updatedAt: u, resolvedAt: r, ...schemas } = MarketResource.properties;
  for (const [name, schema] of Object.entries(schemas)) {
    expect([name, Value.Check(schema, rest[name as keyof typeof schemas])]).toEqual([name, true]);
  }
});

test('each outcome has its own asset id', () => {
  expect(assetIdOf(unresolved, 'up')).toBe('111');
  expect(assetIdOf(unresolved, 'down')).toBe('222');
});
