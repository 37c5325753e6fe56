import { afterAll, beforeAll, expect, setDefaultTimeout, spyOn, test } from 'bun:test';
import { RawSocket } from '../http/replay/raw-socket.ts';
import { EVERYTHING, type Replaying, startReplaying } from '../http/replay/replaying.ts';
import { importRecords } from '../support/archive.ts';
import { LIGHT_MARKET } from '../support/light-recording.ts';
import { CountedReads, readsInCrowd } from './counted-reads.ts';
import { EXPORTED_RECORDS } from './unread-export.ts';

setDefaultTimeout(300_000);

const REPLAYS = 12;
const OPTIONS = {
  exchange: 'polymarket',
  from: '2026-04-16T07:10:00Z',
  to: '2026-04-16T07:10:01Z',
  symbols: LIGHT_MARKET.clobTokenIds,
  dataTypes: ['book_change'],
};
const NORMALIZED = `replay-normalized?options=${encodeURIComponent(JSON.stringify(OPTIONS))}`;
const NATIVE = 'ws-replay?exchange=polymarket&from=2026-04-16&to=2026-04-17';

let replaying: Replaying;

beforeAll(async () => {
  replaying = await startReplaying((archive) => importRecords(archive, EXPORTED_RECORDS), { needsKeys: true });
  replaying.replays.create(EVERYTHING);
});
afterAll(() => replaying[Symbol.asyncDispose]());

test('Keys take turns with replays, whatever number of replays another key has.', async () => {
  using reads = new CountedReads(replaying.archive);
  const whole = async (key: string) => {
    const answer = await replaying.get(`/${NORMALIZED}`, key);
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
  };
  const [many, other] = [replaying.keyOf('enterprise'), replaying.keyOf('enterprise')];
  const { inCrowd, alone } = await readsInCrowd(
    reads,
    () => whole(other),
    () => whole(many),
    REPLAYS,
  );
  // Every second turn is its own, if it is ready for it; in one queue for all it would be every 13th.
  expect(inCrowd).toBeLessThan((alone * REPLAYS) / 2);
});

test.each([
  ["the venue's", 'ws/market'],
  ['a native', NATIVE],
  ['a normalized', `ws-${NORMALIZED}`],
])('%s socket takes the turns of its key', async (_, path) => {
  const key = replaying.keyOf('enterprise');
  const { id } = replaying.registry.apiKeys.authenticate(key)!;
  using owners = spyOn(replaying.replays.queue, 'of');
  const socket = await RawSocket.open(`${replaying.origin.replace('http', 'ws')}/${path}`, [
    `Authorization: Bearer ${key}`,
  ]);
  expect(owners.mock.calls).toEqual([[id]]);
  socket.leave();
});
