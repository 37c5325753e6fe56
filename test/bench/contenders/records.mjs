import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * The records that every contender serves, as bookreel's own service sends them, a line of JSON each:
 * `markets.ndjson` and `snapshots.ndjson` in one directory.
 */
export function recordLines(directory, name) {
  return createInterface({
    input: createReadStream(`${directory}/${name}.ndjson`),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
}

/** Calls `load` with batches of [text, object]. */
export async function loadRecords(directory, name, load, batchRecords = 1000) {
  let batch = [];
  for await (const line of recordLines(directory, name)) {
    batch.push([line, JSON.parse(line)]);
    if (batch.length < batchRecords) continue;
    await load(batch);
    batch = [];
  }
  if (batch.length > 0) await load(batch);
}

/** Where the next page goes on; every service has its own form of it. */
export function cursorOf(timestampMs, id) {
  return Buffer.from(`${timestampMs}:${id}`).toString('base64url');
}

/** What a query of a page says; the number is one more than asked for, which tells whether more follow. */
export function pageQuery({ from = '0', to = '253402300799999', limit = '100' }) {
  return { from: Number(from), to: Number(to), limit: Number(limit), fetched: Number(limit) + 1 };
}

/** What a query of a list says, likewise. */
export function listQuery({ limit = '100', skip = '0' }) {
  return { limit: Number(limit), skip: Number(skip), fetched: Number(limit) + 1 };
}
