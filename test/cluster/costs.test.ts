import { expect, test } from 'bun:test';
import { costRows, monthly, requestsOfHome, requestsOfNode, STORAGES } from './costs.ts';
import { NODES_PAGE } from './node-proxy.ts';

test('The costs that the manual states are those that are computed from the requests of home and nodes.', () => {
  for (const row of costRows()) expect(NODES_PAGE).toContain(row);
  for (const { name } of STORAGES) expect(NODES_PAGE).toContain(name);
});

test('a node costs its requests, and home what it writes', () => {
  const [s3] = STORAGES;
  const [three, four] = [3, 4].map((nodes) => monthly(nodes, 1, s3));
  expect(four! - three!).toBeCloseTo((requestsOfNode(1).reads * s3.millionReads) / 1e6);
  // 2,628,000 seconds in a month, and a fetch in each.
  expect(requestsOfNode(1)).toEqual({ writes: 0, reads: 5_256_000 });
  // An object each 10 s, three writes a market, the lease.
  expect(requestsOfHome().writes).toBeCloseTo(
    262_800 + 3 * 83_333.3 + 87_600 + (2 * (262_800 + 2 * 83_333.3)) / 1000,
    -1,
  );
});
