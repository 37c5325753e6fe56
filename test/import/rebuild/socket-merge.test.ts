import { expect, test } from 'bun:test';
import { SocketMerge } from '../../../src/import/rebuild/socket-merge.ts';

/** The sizes that are taken of one level at one time, of `socket size` in the order of their arrival. */
function taken(...arrivals: readonly (readonly [socket: number, size: string])[]): string[] {
  const merge = new SocketMerge();
  return arrivals.flatMap(([socket, size], index) => {
    const change = { asset_id: '1', price: '0.5', side: 'BUY', size, hash: `hash of ${size}` };
    const frame = { event_type: 'price_change', market: '0x1', timestamp: '1000', price_changes: [change] };
    return merge.fresh(frame, socket, index) === undefined ? [] : [size];
  });
}

test.each([
  [
    'two sockets with the same changes',
    [
      [1, 'a'],
      [1, 'b'],
      [2, 'a'],
      [2, 'b'],
    ],
    ['a', 'b'],
  ],
  [
    'a change that the venue states twice',
    [
      [1, 'a'],
      [1, 'a'],
      [2, 'a'],
      [2, 'a'],
    ],
    ['a', 'a'],
  ],
  [
    'a socket that lost the first change',
    [
      [1, 'b'],
      [2, 'a'],
      [2, 'b'],
    ],
    ['b', 'a', 'b'],
  ],
  [
    'a socket that lost the last change',
    [
      [1, 'a'],
      [2, 'a'],
      [2, 'b'],
    ],
    ['a', 'b'],
  ],
  [
    'a socket that brings the first change twice',
    [
      [1, 'a'],
      [1, 'b'],
      [2, 'a'],
      [2, 'a'],
      [2, 'b'],
    ],
    ['a', 'b', 'a', 'b'],
  ],
  [
    'a level that returned, and a socket that lost its last change',
    [
      [1, 'b'],
      [1, 'a'],
      [1, 'b'],
      [2, 'b'],
      [2, 'a'],
    ],
    ['b', 'a', 'b'],
  ],
  [
    'a level that returned, and a socket that lost its first change',
    [
      [1, 'a'],
      [1, 'b'],
      [2, 'b'],
      [2, 'a'],
      [2, 'b'],
    ],
    ['a', 'b', 'a', 'b'],
  ],
] as const)('the change that a socket brings last is the last one: %s', (_, arrivals, sizes) => {
  expect(taken(...arrivals)).toEqual([...sizes]);
});
