import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { becomes, startHome, startNode } from './nodes.ts';

test('a node knows the keys of home, and follows each change of them', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const first = home.key();
  await using node = startNode(home.origin);
  await node.link.ready;
  expect(node.tierOf(first.key)).toBe('free');
  expect(node.tierOf('br_live_unknown')).toBeUndefined();
  // A new key of a new account.
  const second = home.key('bob@example.com', { tier: 'pro' });
  expect(await becomes(() => node.tierOf(second.key), 'pro')).toBe('pro');
});
