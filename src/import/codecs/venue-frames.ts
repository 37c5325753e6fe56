import type { Codec } from '../codec.ts';
import { jsonValuesOf } from '../parse/json-values.ts';
import type { SnapshotPace } from '../rebuild/pace.ts';
import type { Sample } from '../sample.ts';
import { FrameReader, hasFrame } from './frame-reader.ts';

/**
 * Captures of the venue's market channel: one frame per line, with or without a wrapper of the recorder; an object, an array of
 * objects, or either one as text. `every`: how often changes become snapshots. Frames of coin price feeds may be among them.
 */
export function venueFrames({ every }: { readonly every: SnapshotPace }): Codec {
  const frames = new FrameReader(every);
  return {
    format: 'venue frames',
    input:
      'Venue frames, one a line: WebSocket messages, bare, in a wrapper, after a time, as text, several in an array; REST books; levels as objects or pairs',
    becomes:
      '[Rebuilt](#venue-frames): snapshots, trades as prices, [prices of the last trade](#the-price-of-the-last-trade), markets, gaps. Chainlink, Binance, Coinbase and Pyth frames among them become coin prices.',
    recognises: hasFrames,
    read: async (file, sink) => {
      for await (const line of jsonValuesOf(file)) frames.take(() => line.text(), line.number, sink);
    },
    finish: (sink) => frames.finish(sink),
    notes: () => frames.notes(),
  };
}

function hasFrames(sample: Sample): boolean {
  return sample.columns === undefined && (sample.lines.some(hasFrame) || sample.values.some(hasFrame));
}
