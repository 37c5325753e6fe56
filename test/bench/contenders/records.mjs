import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The records of every contender, in the JSON of bookreel's service, one per line: `markets.ndjson` and `snapshots.ndjson` in one directory. */
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

/** The position of the next page; every service has its own format. */
export function cursorOf(timestampMs, id) {
  return Buffer.from(`${timestampMs}:${id}`).toString('base64url');
}

/** The parameters of a page; the limit is one higher than requested, to find out whether more records follow. */
export function pageQuery({ from = '0', to = '253402300799999', limit = '100' }) {
  return { from: Number(from), to: Number(to), limit: Number(limit), fetched: Number(limit) + 1 };
}

/** The parameters of a list, with the same higher limit. */
export function listQuery({ limit = '100', skip = '0' }) {
  return { limit: Number(limit), skip: Number(skip), fetched: Number(limit) + 1 };
}
