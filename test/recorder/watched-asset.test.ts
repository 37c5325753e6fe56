import { expect, test } from 'bun:test';
import { WatchedAsset } from '../../src/recorder/watched-asset.ts';
import { announcedSlugs, type ChannelEvent, channelEvents } from '../../src/venue/channel-events.ts';

const ASSET = '11';

function watched(): WatchedAsset {
  return new WatchedAsset({ id: ASSET, conditionId: '0xabc', slug: 'btc-updown-5m-300', outcome: 'up' });
}

const event = (timestampMs: number, hash: string, isBook = false): ChannelEvent => ({
  ...{ assetId: ASSET, isBook, isOfBook: true, timestampMs, hash },
});
const book = (timestampMs: number, hash: string) => event(timestampMs, hash, true);

test('A loss lasts from the last message, or from 250 ms before the sockets were last alive, to the next book.', () => {
  const asset = watched();
  asset.take(book(1000, 'a'), 1);
  asset.take(event(2000, 'b'), 2);
  asset.lose(2100, 'no socket was open');
  // The first reason counts.
  asset.lose(9000, 'another reason');
  expect(asset.take(event(5000, 'c'), 3)).toBeUndefined();
  expect(asset.take(book(5001, 'd'), 4)).toEqual({ fromMs: 2000, reason: 'no socket was open' });
  expect(asset.loss).toBeUndefined();
  asset.lose(60_000, 'no socket was open');
  expect(asset.take(book(61_000, 'e'), 5)).toEqual({ fromMs: 59_750, reason: 'no socket was open' });
});

test('Nothing was lost if the next book is the one that the last message stated, or is older.', () => {
  const asset = watched();
  asset.take(book(1000, 'a'), 1);
  asset.take(event(2000, 'b'), 2);
  asset.lose(3000, 'no socket was open');
  expect(asset.take(book(2000, 'b'), 3)).toBeUndefined();
  asset.lose(4000, 'no socket was open');
  expect(asset.take(book(1500, 'x'), 4)).toBeUndefined();
});

test('A change that comes after a loss and before the book does not hide the loss.', () => {
  const asset = watched();
  asset.take(book(1000, 'a'), 1);
  asset.lose(1100, 'no socket was open');
  asset.take(event(5000, 'c'), 2);
  expect(asset.take(book(5000, 'c'), 3)).toEqual({ fromMs: 1000, reason: 'no socket was open' });
});

test('Before the first book nothing is lost, except what an earlier recorder had begun.', () => {
  const asset = watched();
  asset.lose(500, 'no socket was open');
  expect(asset.take(book(1000, 'a'), 1)).toBeUndefined();
  const resumed = watched();
  resumed.loseSince(400, 'the recorder was not running');
  expect(resumed.take(book(1000, 'a'), 1)).toEqual({ fromMs: 400, reason: 'the recorder was not running' });
});

test('events of a frame: a change each, in arrays too, and none of other texts', () => {
  const change = (asset_id: string) => ({ asset_id, price: '0.5', size: '1', side: 'BUY', hash: `h${asset_id}` });
  const frame = {
    event_type: 'price_change',
    market: '0x1',
    timestamp: '1700000000123',
    price_changes: [change('1'), change('2')],
  };
  const whole = { event_type: 'book', asset_id: '1', timestamp: '1700000000124', hash: 'x', bids: [], asks: [] };
  expect(channelEvents(JSON.stringify([frame, whole]))).toEqual([
    { assetId: '1', isBook: false, isOfBook: true, timestampMs: 1_700_000_000_123, hash: 'h1' },
    { assetId: '2', isBook: false, isOfBook: true, timestampMs: 1_700_000_000_123, hash: 'h2' },
    { assetId: '1', isBook: true, isOfBook: true, timestampMs: 1_700_000_000_124, hash: 'x' },
  ]);
  for (const text of ['PONG', '', '[]', '{}', 'null', '"book"', '{"event_type":"book"}'])
    expect(channelEvents(text)).toEqual([]);
});

test('a frame with announcements only names their slugs; any other frame is kept', () => {
  const announced = { event_type: 'new_market', slug: 'ETH-updown-5m-300' };
  expect(announcedSlugs(JSON.stringify(announced))).toEqual(['eth-updown-5m-300']);
  expect(announcedSlugs(JSON.stringify([announced, { event_type: 'book', asset_id: '1' }]))).toBeUndefined();
  expect(announcedSlugs('{"event_type":"price_change"}')).toBeUndefined();
});
