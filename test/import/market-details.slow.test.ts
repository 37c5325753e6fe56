import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { MarketDetails } from '../../src/domain/market-details.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported, linesOfNdjson } from '../export/exported.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { importFile } from '../support/imported.ts';
import { realRecording } from '../support/real-recordings.ts';
import { CONDITION_ID, DOWN_ASSET, sampleMarket, UP_ASSET } from '../support/sample-records.ts';

const OPEN = realRecording('gamma/unresolved-sample.jsonl.gz');
const EVENT = realRecording('gamma/gamma_event_crypto_updown.json');
const DETAILS: MarketDetails = { question: 'Bitcoin Up or Down - April 16, 3:10AM-3:15AM ET', takerBaseFee: 1000 };

function detailsIn(archive: Archive, conditionId: string = CONDITION_ID): MarketDetails {
  return archive.markets.details.of(archive.markets.findByConditionId(conditionId)!.key);
}

describe('an import keeps the details of a market', () => {
  test.skipIf(OPEN === undefined || EVENT === undefined)('in Gamma’s objects', async () => {
    using held = temporaryArchive();
    await importPaths(held.archive, OPEN!, EVENT!);
    const lines = gunzipSync(readFileSync(OPEN!)).toString().trimEnd().split('\n');
    const [event] = JSON.parse(readFileSync(EVENT!, 'utf8'));
    const raws = [...lines.map((line) => JSON.parse(line)), { ...event.markets[0], events: [event] }];
    let compared = 0;
    for (const raw of raws) {
      if (held.archive.markets.findByConditionId(raw.conditionId) === undefined) continue;
      const { feeSchedule = {} } = raw;
      const stated = {
        ...{ question: raw.question, title: raw.events[0].title, description: raw.description },
        ...{ resolutionSource: raw.resolutionSource, questionId: raw.questionID, image: raw.image, icon: raw.icon },
        ...{ makerBaseFee: raw.makerBaseFee, takerBaseFee: raw.takerBaseFee, feesEnabled: raw.feesEnabled },
        ...{ feeType: raw.feeType ?? undefined, feeRate: feeSchedule.rate, feeExponent: feeSchedule.exponent },
        ...{ feeTakerOnly: feeSchedule.takerOnly, feeRebateRate: feeSchedule.rebateRate },
        ...{ rewardsMinSize: raw.rewardsMinSize, rewardsMaxSpread: raw.rewardsMaxSpread },
      };
      expect(detailsIn(held.archive, raw.conditionId)).toEqual(JSON.parse(JSON.stringify(stated)));
      compared += 1;
    }
    expect(compared).toBe(393);
  });

  test('in a message about a new market', async () => {
    using held = temporaryArchive();
    await importFile(
      held.archive,
      'frames.jsonl',
      JSON.stringify({
        ...{ event_type: 'new_market', timestamp: '1776236400000', slug: 'btc-updown-5m-1776323400' },
        ...{ id: '7', market: CONDITION_ID, assets_ids: [UP_ASSET, DOWN_ASSET], outcomes: ['Up', 'Down'] },
        ...{
          question: 'Who?',
          event_message: { id: '8', title: 'A title' },
          taker_base_fee: '1000',
          fees_enabled: true,
        },
        fee_schedule: { rate: 0.07, exponent: 1, taker_only: true, rebate_rate: '0.2' },
      }),
    );
    expect(detailsIn(held.archive)).toEqual({
      ...{ question: 'Who?', title: 'A title', takerBaseFee: 1000, feesEnabled: true },
      ...{ feeRate: 0.07, feeExponent: 1, feeTakerOnly: true, feeRebateRate: 0.2 },
    });
  });

  test('A detail with a value of the wrong type is unknown in the venue’s objects, and refused in our own format.', async () => {
    using held = temporaryArchive();
    const tokens = [UP_ASSET, DOWN_ASSET].map((token_id, i) => ({ token_id, outcome: ['Up', 'Down'][i] }));
    const { total } = await importFile(
      held.archive,
      'market.json',
      JSON.stringify({
        ...{ condition_id: CONDITION_ID, market_slug: 'btc-updown-5m-1776323400', tokens, question: 'Who?' },
        ...{ taker_base_fee: 1000, maker_base_fee: -1, icon: 7, description: '', image: 'x'.repeat(10_001) },
        rewards: { rates: null, min_size: 50, max_spread: 4.5 },
      }),
    );
    expect(total).toMatchObject({ stored: 1, rejected: 0 });
    expect(detailsIn(held.archive)).toEqual({
      ...{ question: 'Who?', takerBaseFee: 1000, rewardsMinSize: 50, rewardsMaxSpread: 4.5 },
    });
  });

  test('in our own format, whose wrong values are refused', async () => {
    using held = temporaryArchive();
    expect((await importRecords(held.archive, [sampleMarket({ details: DETAILS })])).total.stored).toBe(1);
    expect(detailsIn(held.archive)).toEqual(DETAILS);
    for (const [details, reason] of [
      [7, 'details is not an object'],
      [{ question: 7 }, 'details.question is not a text of 1 to 10,000 characters'],
      [{ question: '\ud800' }, 'details.question is not a text of 1 to 10,000 characters'],
      [{ takerBaseFee: '1000' }, 'details.takerBaseFee is not a number of at least 0'],
      [{ feesEnabled: 1 }, 'details.feesEnabled is not true or false'],
    ] as const) {
      const { total, rejections } = await importRecords(held.archive, [sampleMarket({ details })]);
      expect([total.rejected, rejections[0]?.reason]).toEqual([1, reason]);
    }
    expect(detailsIn(held.archive)).toEqual(DETAILS);
  });
});

test('A statement that outranks what is known of a market replaces its details; any other only adds unknown ones.', async () => {
  using held = temporaryArchive();
  const put = async (fields: Parameters<typeof sampleMarket>[0]) =>
    (await importRecords(held.archive, [sampleMarket(fields)])).total.stored;
  const updatedAt = (hour: number) => new Date(Date.UTC(2026, 3, 16, hour)).toISOString();
  expect(await put({ updatedAt: updatedAt(5) })).toBe(1);
  const { revision } = held.archive.markets.findByConditionId(CONDITION_ID)!;
  expect(await put({ updatedAt: updatedAt(5), details: DETAILS })).toBe(1);
  expect(held.archive.markets.findByConditionId(CONDITION_ID)!.revision).not.toBe(revision);
  expect(await put({ updatedAt: updatedAt(5), details: DETAILS })).toBe(0);
  expect(await put({ updatedAt: updatedAt(4), details: { question: 'Earlier?', icon: 'i' } })).toBe(1);
  expect(detailsIn(held.archive)).toEqual({ ...DETAILS, icon: 'i' });
  expect(await put({ updatedAt: updatedAt(6), details: { question: 'Later?' } })).toBe(1);
  expect(detailsIn(held.archive)).toEqual({ ...DETAILS, icon: 'i', question: 'Later?' });
});

test.each(['ndjson', 'msgpack', 'segments'] as const)(
  'an export as %s has them, and imports to the same',
  async (format) => {
    using first = temporaryArchive();
    using second = temporaryArchive();
    await importRecords(first.archive, [sampleMarket({ details: DETAILS })]);
    const { bytes } = await exported(first.archive, format);
    const path = join(second.path, `export.${format}`);
    writeFileSync(path, bytes);
    await importPaths(second.archive, path);
    expect(detailsIn(second.archive)).toEqual(DETAILS);
    expect((await exported(second.archive, format)).bytes.equals(bytes)).toBe(true);
    if (format === 'ndjson') expect(linesOfNdjson(bytes)).toMatchObject([{ type: 'market', details: DETAILS }]);
  },
);
