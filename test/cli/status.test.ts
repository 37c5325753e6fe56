import { expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

test('status --records counts the records of every type', async () => {
  using place = temporaryArchive();
  const lines = [1, 2, 3].flatMap((seed) => generatedRecording(seed));
  const { records } = await importRecords(place.archive, lines);
  expect(records.lastTradePrice).toBeGreaterThan(0);
  const printed = async (...more: string[]) => {
    const terminal = captured(() => NOW_MS);
    expect(await run(['status', '--records', ...more, '--data', place.path], terminal)).toBe(0);
    return terminal.stdout();
  };
  const {
    snapshot: snapshots,
    quote: quotes,
    price: prices,
    lastTradePrice: lastTradePrices,
    coinPrice: coinPrices,
  } = records;
  expect(JSON.parse(await printed('--json')).records).toEqual({
    snapshots,
    quotes,
    prices,
    lastTradePrices,
    coinPrices,
  });
  expect(await printed()).toEndWith(
    `\n${snapshots} snapshots, ${quotes} quotes, ${prices} prices, ${lastTradePrices} prices of the last trade, ${coinPrices} reference prices\n`,
  );
});

test('status shows open and sealed markets and their bytes, as the metrics do.', async () => {
  using place = temporaryArchive();
  await importRecords(place.archive, generatedRecording(2));
  const printed = async (...more: string[]) => {
    const terminal = captured(() => NOW_MS);
    expect(await run(['status', ...more, '--data', place.path], terminal)).toBe(0);
    return terminal.stdout();
  };
  const { markets } = JSON.parse(await printed('--json')).open;
  expect(markets).toBeGreaterThan(1);
  expect(await printed()).not.toContain('sealed');
  const count = sealAll(place.archive);
  const files = sealedMarkets(place.archive);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { open, sealed } = JSON.parse(await printed('--json'));
  expect(sealed).toEqual({ markets: count, bytes });
  expect(open).toEqual({ markets: markets - count, bytes: expect.any(Number) });
  expect(await printed()).toContain(` MB of recordings with ${markets - count} open markets, `);
  expect(await printed()).toContain(`, ${(bytes / 1e6).toFixed(1)} MB in ${count} sealed markets; `);
});
