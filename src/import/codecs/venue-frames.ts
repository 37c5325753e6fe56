import type { Codec } from '../codec.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { Sample } from '../sample.ts';
import { hasFrame, takeFrames } from './frame-reader.ts';

/**
 * Captures of the venue's market channel: one frame per line, with or without a wrapper of the recorder; an object, an array of
 * objects, or either one as text. Frames of coin price feeds may be among them.
 */
export function venueFrames(): Codec {
  return {
    format: 'venue frames',
    input:
      'Venue frames, one a line: WebSocket messages, bare, in a wrapper, after a time, as text, several in an array; REST books; levels as objects or pairs',
    becomes:
      '[Rebuilt](#venue-frames): snapshots, trades as prices, [prices of the last trade](#the-price-of-the-last-trade), markets, gaps. Chainlink, Binance, Coinbase and Pyth frames among them become coin prices.',
    lines: 'json',
    recognises: hasFrames,
    read: (file, sink) => visitJsonValues(file, (line) => takeFrames(() => line.text(), line.number, sink)),
  };
}

function hasFrames(sample: Sample): boolean {
  return sample.columns === undefined && (sample.lines.some(hasFrame) || sample.values.some(hasFrame));
}
