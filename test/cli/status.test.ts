import { expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';

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
