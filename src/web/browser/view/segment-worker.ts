import { readSnapshots } from '../../../client/segment-reader.ts';

/** Reads a file of segments, and answers with its number of snapshots. */
addEventListener('message', async ({ data }: MessageEvent<Uint8Array>) => {
  let snapshots = 0;
  for await (const _ of readSnapshots(data)) snapshots += 1;
  postMessage(snapshots);
});
