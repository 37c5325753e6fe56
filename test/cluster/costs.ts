/**
 * The costs of a month with a year of markets in a bucket, computed from the requests of home and nodes. The manual has the result as a table; a test
 * compares both. Only `CATALOG` is measured.
 */

/** Prices in US dollars, as the two storages listed them in 2025, without a free tier; requests from outside of the storage's network cost traffic too. */
export const STORAGES = [
  { name: 'AWS S3 Standard', gigabyteMonth: 0.023, millionWrites: 5, millionReads: 0.4 },
  { name: 'Cloudflare R2', gigabyteMonth: 0.015, millionWrites: 4.5, millionReads: 0.36 },
] as const;

/** A million markets and a terabyte a year: all coins and timeframes of the venue. */
const ARCHIVE = { markets: 1_000_000, bytes: 1e12 } as const;

const MONTHS = 12;
const SECONDS_A_MONTH = (365 * 86_400) / MONTHS;
/** Changes of markets that are recorded wait up to 10 s for their object. New, sealed and deleted markets do not. */
const OPEN_SECONDS = 10;
const OBJECTS_A_CHECKPOINT = 1000;
/** A writer renews its lease with a read and a write. */
const LEASE_SECONDS = 30;
/** A node asks for the next number. */
const FOLLOW_SECONDS = 1;

export interface Requests {
  readonly writes: number;
  readonly reads: number;
}

/** Requests of home in a month. A market is an object when it is new, and a file and an object when it is sealed. */
export function requestsOfHome(): Requests {
  const markets = ARCHIVE.markets / MONTHS;
  const objects = SECONDS_A_MONTH / OPEN_SECONDS + 2 * markets;
  const leases = SECONDS_A_MONTH / LEASE_SECONDS;
  // A checkpoint is a file and its description.
  return { writes: objects + markets + (2 * objects) / OBJECTS_A_CHECKPOINT + leases, reads: leases };
}

/** Requests of a node in a month that fetches this number of files a second. */
export function requestsOfNode(fetchesASecond: number): Requests {
  return { writes: 0, reads: SECONDS_A_MONTH / FOLLOW_SECONDS + SECONDS_A_MONTH * fetchesASecond };
}

/** Dollars a month of the requests of home and nodes, and of a year of files. */
export function monthly(nodes: number, fetchesASecond: number, storage: (typeof STORAGES)[number]): number {
  const [home, node] = [requestsOfHome(), requestsOfNode(fetchesASecond)];
  const reads = home.reads + nodes * node.reads;
  const requests = (home.writes * storage.millionWrites + reads * storage.millionReads) / 1e6;
  return requests + (ARCHIVE.bytes / 1e9) * storage.gigabyteMonth;
}

/** Rows of the manual: nodes, files that a node fetches a second, requests to the bucket a month in millions, and dollars by storage. */
export function costRows(): readonly string[] {
  const cases = [
    [3, 0.1],
    [3, 10],
    [10, 1],
    [100, 1],
  ] as const;
  return cases.map(([nodes, fetches]) => {
    const [home, node] = [requestsOfHome(), requestsOfNode(fetches)];
    const writes = (home.writes / 1e6).toFixed(2);
    const reads = ((home.reads + nodes * node.reads) / 1e6).toFixed(0);
    const dollars = STORAGES.map((storage) => `$${monthly(nodes, fetches, storage).toFixed(0)}`);
    return `| ${[nodes, fetches, `${writes} million`, `${reads} million`, ...dollars].join(' | ')} |`;
  });
}
