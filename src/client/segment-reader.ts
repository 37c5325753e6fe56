/**
 * Reads a recording in the segments format (`…/export?format=segments`) as the API's snapshots: the same records in the same
 * order. Copy this file; it needs no other. It runs in Node, Bun, Deno and browsers (in pages from https and localhost, which
 * have crypto.subtle). `segments.md`, served next to it, describes the format.
 */
export type Level = { readonly price: number; readonly size: number };
type Labels = 'id' | 'assetId' | 'conditionId' | 'symbol' | 'outcome' | 'timeframe' | 'timestamp';
/** The best level of a side is its first. A level that did not change is the same object as in the book before. */
export type Snapshot = Readonly<Record<Labels, string> & Record<'bids' | 'asks', readonly Level[]>>;
/** The fields that all records of a series share: its own and its market's. */
type Series = Record<Labels | 'type', string> & Record<'outcomes' | 'clobTokenIds', readonly string[]>;
type Numbers = ReturnType<typeof numbersOf>;

const FIRST_LINE = new TextEncoder().encode('bookreel segments 1\n');
const [HEAD_BYTES, DIGEST_BYTES, FRAME_BYTES_MAX] = [5, 32, 2 ** 24];
/** Operations on a level. Below REMOVE its size changes by a table entry, by whole units or by fractions of one. */
const [LISTED, WHOLE, REMOVE, INSERT, DOUBLE, DOUBLES] = [40, 48, 56, 57, 58, 31];
const [DAMAGED, FOREIGN] = ['this recording is damaged', 'this is not a recording in the segments format, version 1'];

/**
 * `source`: the body of an answer, or all its bytes (for browsers that cannot iterate a stream). Throws when the recording is cut
 * off, damaged or in another format; the snapshots before the error are correct, but not complete.
 */
export async function* readSnapshots(source: AsyncIterable<Uint8Array> | Uint8Array): AsyncGenerator<Snapshot, void> {
  let [market, series]: [object, Series[]] = [{}, []];
  let [waiting, count]: [Snapshot[], number] = [[], 0];
  for await (const { type, body } of framesOf(source instanceof Uint8Array ? [source] : source)) {
    const numbers = numbersOf(body);
    const of = type === 'R' ? series[numbers.unsigned()] : undefined;
    const segment = of?.type === 'snapshot' ? [...snapshotsOf(numbers, of)] : [];
    // Segments ascend by their first snapshots: no later snapshot comes before this segment's first.
    const isDue = (next: Snapshot) => (segment[0] ? inOrder(next, segment[0]) < 0 : type === 'M' || type === 'E');
    for (; waiting[0] && isDue(waiting[0]); count += 1) yield waiting.shift()!;
    waiting = [...waiting, ...segment].sort(inOrder);
    const json = 'MSE'.includes(type) ? JSON.parse(new TextDecoder().decode(body)) : undefined;
    if (type === 'M') [market, series] = [json, []];
    if (type === 'S') series.push({ ...market, ...json });
    if (type === 'E' && json.snapshot !== count) throw new Error(`${count} of ${json.snapshot} snapshots were read`);
  }
}

const inOrder = (a: Snapshot, b: Snapshot) =>
  a.timestamp === b.timestamp ? Number(a.id) - Number(b.id) : a.timestamp < b.timestamp ? -1 : 1;

/** The frames of a recording. Each frame's digest covers the previous digest and the frame. */
export async function* framesOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  let [buffered, type, start] = [new Uint8Array(), '', FIRST_LINE.length];
  for await (const chunk of chunks) {
    const rest = buffered;
    buffered = new Uint8Array(rest.length + chunk.length);
    buffered.set(rest);
    buffered.set(chunk, rest.length);
    while (type !== 'E' && buffered.length >= start + HEAD_BYTES) {
      if (type === '' && FIRST_LINE.some((byte, i) => byte !== buffered[i])) throw new Error(FOREIGN);
      const end = start + HEAD_BYTES + new DataView(buffered.buffer, buffered.byteOffset).getUint32(start + 1, true);
      if (end > FRAME_BYTES_MAX) throw new Error(DAMAGED);
      if (buffered.length < end + DIGEST_BYTES) break;
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', buffered.subarray(0, end)));
      if (digest.some((byte, i) => byte !== buffered[end + i])) throw new Error(DAMAGED);
      type = String.fromCharCode(buffered[start]!);
      yield { type, body: buffered.subarray(start + HEAD_BYTES, end) };
      [buffered, start] = [buffered.subarray(end), DIGEST_BYTES];
    }
  }
  if (type !== 'E') throw new Error('this recording is cut off');
  if (buffered.length > DIGEST_BYTES) throw new Error('this recording has data after its end');
}

/** The snapshots of a segment, only those that belong to the recording. */
function* snapshotsOf(numbers: Numbers, series: Series): Generator<Snapshot, void> {
  const { byte, unsigned, signed } = numbers;
  const { conditionId, symbol, outcome, timeframe, outcomes, clobTokenIds } = series;
  const labels = { assetId: clobTokenIds[outcomes.indexOf(outcome)]!, conditionId, symbol, outcome, timeframe };
  const [from, taken, version, count] = [unsigned(), unsigned(), unsigned(), unsigned()];
  if (version !== 2 && version !== 3) throw new Error('this recording has segments of an unknown version');
  // After a step that equals the previous one comes the number of further repetitions.
  const column = (nextStep: () => number) => {
    const values = [unsigned()];
    for (let before = Number.NaN; values.length < count; ) {
      const step = nextStep();
      for (let again = step === before ? unsigned() : 0; again >= 0; again -= 1) values.push(values.at(-1)! + step);
      before = step === before ? Number.NaN : step;
    }
    return values;
  };
  const [times, ids] = [column(unsigned), column(signed), version === 3 && Array.from({ length: unsigned() }, byte)];
  const sideOf = sideReader(numbers);
  let book: Record<'bids' | 'asks', Level[]> = { bids: [], asks: [] };
  for (let i = 0; i < from + taken; i += 1) {
    const edits = i === 0 ? undefined : byte();
    book = { bids: sideOf(-1, book.bids, edits && edits & 15), asks: sideOf(1, book.asks, edits && edits >> 4) };
    if (i >= from) yield { id: String(ids[i]), ...labels, timestamp: new Date(times[i]!).toISOString(), ...book };
  }
}

/** Returns a function that reads a side: all levels of the first book, or `edits` of the side before (15: 15 or more). */
function sideReader({ byte, unsigned, double }: Numbers) {
  const [priceUnit, sizeScale] = [Number(`1e${unsigned()}`), unsigned()];
  const sizeUnit = sizeScale === DOUBLES ? 1 : Number(`1e${sizeScale}`);
  const unitOf = (isWhole: boolean) => (isWhole ? sizeUnit : 1);
  const table = Array.from({ length: unsigned() }, unsigned).map((n) => Math.floor(n / 2) * unitOf(n % 2 === 1));
  const resized = ({ price, size }: Level, op: number): Level => {
    if (op === DOUBLE) return { price, size: double() };
    const change = op < LISTED ? table[op >> 1]! : (Math.ceil((op % 8) / 2) + 4 * unsigned()) * unitOf(op < WHOLE);
    return { price, size: (Math.round(size * sizeUnit) + (op % 2 === 0 ? change : -change)) / sizeUnit };
  };
  const inserted = (before: Level | undefined, away: -1 | 1): Level => {
    const code = unsigned();
    const ticks = before ? Math.round(before.price * priceUnit) : away === 1 ? -1 : priceUnit + 1;
    const price = (ticks + away * (code % 2 === 0 ? 1 : unsigned())) / priceUnit;
    return { price, size: sizeScale === DOUBLES ? double() : (Math.floor(code / 4) * unitOf(code % 4 > 1)) / sizeUnit };
  };
  return (away: -1 | 1, before: Level[], edits?: number) => {
    const levels = edits === 0 ? before : [...before];
    let left = edits === undefined ? unsigned() : edits < 15 ? edits : edits + unsigned();
    for (let at = 0; left > 0; left -= 1) {
      const code = edits === undefined ? 4 * INSERT : byte();
      const op = code >> 2;
      at += code % 4 < 3 ? code % 4 : 3 + unsigned();
      if (op > DOUBLE || at > levels.length - (op === INSERT ? 0 : 1)) throw new Error(DAMAGED);
      if (op === REMOVE) levels.splice(at, 1);
      else if (op === INSERT) levels.splice(at, 0, inserted(levels[at - 1], away));
      else levels[at] = resized(levels[at]!, op);
      at += op === REMOVE ? 0 : 1;
    }
    return levels;
  };
}

/** Reads the numbers of a payload in order: LEB128, and doubles in little endian. */
function numbersOf(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const byte = () => view.getUint8(at++);
  const unsigned = (): number => {
    const low = byte();
    return low < 128 ? low : low - 128 + 128 * unsigned();
  };
  const signed = () => {
    const low = byte();
    const magnitude = ((low % 128) >> 1) + (low < 128 ? 0 : 64 * unsigned());
    return low % 2 === 0 ? magnitude : -magnitude;
  };
  const double = () => {
    at += 8;
    return view.getFloat64(at - 8, true);
  };
  return { byte, unsigned, signed, double };
}
