import { expect, test } from 'bun:test';
import { rejectionsOf } from './mapped-import.ts';

const TOML = `
  format = "json"
  time = { field = "t", unit = "s" }
  market.slug = { value = "btc-updown-5m-1776323400" }
  quotes.up = { bid = "bid", ask = "ask" }`;
const PERCENT = "cut the sign off with pattern = '^(.+)%$', and state scale = 0.01 in the mapping";
test.each([
  ['a figure as it is', 'bid = "bid"'],
  ['a figure that is multiplied', 'bid = { field = "bid", scale = 0.01 }'],
  ['a price of the other outcome', 'bid = { field = "bid", complement = true }'],
])('a figure with a percent sign is rejected, and the sentence says how to read it: %s', async (_, bid) => {
  const row = '{"t": 1776323404, "bid": "43%", "ask": 0.6}';
  const [reason, ...others] = await rejectionsOf(TOML.replace('bid = "bid"', bid), row, 'rows.jsonl');
  expect(reason).toMatch(/^bid "?43%"? is not a decimal/);
  expect(reason).toContain(PERCENT);
  expect(others).toEqual([]);
});

test('so is one of a level', async () => {
  const toml = `
    format = "csv"
    time = { field = "t", unit = "s" }
    market = { slug = { value = "btc-updown-5m-1776323400" } }
    outcome = { value = "up" }
    levels = { side = { value = "bid" }, price = "p", size = "q" }`;
  const [reason] = await rejectionsOf(toml, 't,p,q\n1776323404,43%,1');
  expect(reason).toContain(PERCENT);
});
