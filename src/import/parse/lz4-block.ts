/** A byte of a length stands for at most 255 bytes of a match. */
const RATIO_MAX = 255;

/**
 * Decompresses a block of LZ4, whose format is https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md: literals and matches in turns,
 * the last ones literals. Throws for a block that is damaged or has another size than `outputLength`.
 */
export function decompressLz4Block(input: Uint8Array, outputLength: number): Uint8Array {
  if (outputLength > RATIO_MAX * input.length) throw new Error('the LZ4 block states an impossible size');
  const output = new Uint8Array(outputLength);
  let [from, to] = [0, 0];
  const next = (): number => {
    const byte = input[from++];
    if (byte === undefined) throw new Error('the LZ4 block is cut off');
    return byte;
  };
  /** The length that 4 bits of a token begin; 15 continues in bytes, and 255 in each further one. */
  const lengthOf = (start: number): number => {
    let length = start;
    for (let byte = start === 15 ? 255 : 0; byte === 255; length += byte) byte = next();
    return length;
  };
  for (;;) {
    const token = next();
    const literals = lengthOf(token >> 4);
    if (from + literals > input.length || to + literals > outputLength) throw new Error('the LZ4 block is damaged');
    output.set(input.subarray(from, from + literals), to);
    from += literals;
    to += literals;
    if (from === input.length) break;
    const offset = next() + 256 * next();
    const length = lengthOf(token & 15) + 4;
    if (offset === 0 || offset > to || to + length > outputLength) throw new Error('the LZ4 block is damaged');
    // A match may overlap what it writes, which repeats it.
    for (const end = to + length; to < end; to += 1) output[to] = output[to - offset]!;
  }
  if (to !== outputLength) throw new Error('the LZ4 block is shorter than stated');
  return output;
}
