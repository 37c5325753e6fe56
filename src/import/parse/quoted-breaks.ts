const QUOTE = 34;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Control characters that no text has, in place of the two above. */
const [FEED_MARK, RETURN_MARK] = [30, 31];
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the marks.
const MARKS = /[\u001e\u001f]/;
/** A quoted field that is longer has lost its end: its lines are read as they are. */
const QUOTED_BYTES_MAX = 4096;

/** The chunks of a CSV file, with marks for the line breaks in its quoted fields: afterwards each line is a row. */
export async function* withMarkedBreaks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let quotedBytes = -1;
  for await (const chunk of chunks) {
    if (quotedBytes < 0 && !chunk.includes(QUOTE)) {
      yield chunk;
      continue;
    }
    const marked = chunk.slice();
    for (let i = 0; i < marked.length; i += 1) {
      const byte = marked[i]!;
      if (byte === QUOTE) quotedBytes = quotedBytes < 0 ? 0 : -1;
      else if (quotedBytes >= 0) {
        if (byte === LINE_FEED) marked[i] = FEED_MARK;
        else if (byte === CARRIAGE_RETURN) marked[i] = RETURN_MARK;
        quotedBytes = quotedBytes < QUOTED_BYTES_MAX ? quotedBytes + 1 : -1;
      }
    }
    yield marked;
  }
}

/** A text with its line breaks in place of their marks. */
export function withBreaks(text: string): string {
  return MARKS.test(text) ? text.replaceAll('\u001e', '\n').replaceAll('\u001f', '\r') : text;
}
