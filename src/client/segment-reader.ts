/**
 * Reads a recording in the form of segments (`…/export?format=segments`) as the snapshots of the API's pages: the same
 * records in the same order. Copy this file, it needs no other. It runs in Node, Bun, Deno and browsers (where pages from
 * https and localhost have crypto.subtle). `segments.md`, served next to it, describes the form.
 */
export type Level = { readonly price: number; readonly size: number };
type Labels = 'id' | 'assetId' | 'conditionId' | 'symbol' | 'outcome' | 'timeframe' | 'timestamp';
/** The best level is the first of its side. A level that did not change is the same object as in the book before. */
export type Snapshot = Readonly<Record<Labels, string> & Record<'bids' | 'asks', readonly Level[]>>;
/** What the records of a series share: its own fields and its market's. */
type Series = Record<Labels | 'type', string> & Record<'outcomes' | 'clobTokenIds', readonly string[]>;
type Numbers = ReturnType<typeof numbersOf>;

const FIRST_LINE = new TextEncoder().encode('bookreel segments 1\n');
const [HEAD_BYTES, DIGEST_BYTES, FRAME_BYTES_MAX] = [5, 32, 2 ** 24];
/** Edits of a level: below REMOVE its size changes, by an entry of the table, by whole units or by parts of one. */
const [LISTED, WHOLE, REMOVE, INSERT, DOUBLE, DOUBLES] = [40, 48, 56, 57, 58, 31];
const [DAMAGED, FOREIGN] = ['this recording is damaged', 'this is no recording of segments, version 1'];

/**
 * `source`: the body of an answer, or all its bytes (for browsers that cannot iterate a stream). Throws where the recording
 * is cut off, damaged or no such one: what came before is right, but it is not the whole.
 */
export async function* readSnapshots(source: AsyncIterable<Uint8Array> | Uint8Array): AsyncGenerator<Snapshot, void> {
  let [market, series]: [object, Series[]] = [{}, []];
  let [waiting, count]: [Snapshot[], number] = [[], 0];
  for await (const { type, body } of framesOf(source instanceof Uint8Array ? [source] : source)) {
    const numbers = numbersOf(body);
    const of = type === 'R' ? series[numbers.unsigned()] : undefined;
    const segment = of?.type === 'snapshot' ? [...snapshotsOf(numbers, of)] : [];
    // Segments ascend by their first snapshots: nothing before this one is to come.
    const isDue = (held: Snapshot) => (segment[0] ? inOrder(held, segment[0]) < 0 : type === 'M' || type === 'E');
    for (; waiting[0] && isDue(waiting[0]); count += 1) yield waiting.shift()!;
    waiting = [...waiting, ...segment].sort(inOrder);
    const said = 'MSE'.includes(type) ? JSON.parse(new TextDecoder().decode(body)) : undefined;
    if (type === 'M') [market, series] = [said, []];
    if (type === 'S') series.push({ ...market, ...said });
    if (type === 'E' && said.snapshot !== count) throw new Error(`of ${said.snapshot} snapshots ${count} have come`);
  }
}

const inOrder = (a: Snapshot, b: Snapshot) =>
  a.timestamp === b.timestamp ? Number(a.id) - Number(b.id) : a.timestamp < b.timestamp ? -1 : 1;

/** The frames of a recording. After each comes its digest, which covers the digest before it as well. */
async function* framesOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  let [held, type, start] = [new Uint8Array(), '', FIRST_LINE.length];
  for await (const chunk of chunks) {
    const rest = held;
    held = new Uint8Array(rest.length + chunk.length);
    held.set(rest);
    held.set(chunk, rest.length);
    while (type !== 'E' && held.length >= start + HEAD_BYTES) {
      if (type === '' && FIRST_LINE.some((byte, i) => byte !== held[i])) throw new Error(FOREIGN);
      const end = start + HEAD_BYTES + new DataView(held.buffer, held.byteOffset).getUint32(start + 1, true);
      if (end > FRAME_BYTES_MAX) throw new Error(DAMAGED);
      if (held.length < end + DIGEST_BYTES) break;
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', held.subarray(0, end)));
      if (digest.some((byte, i) => byte !== held[end + i])) throw new Error(DAMAGED);
      type = String.fromCharCode(held[start]!);
      yield { type, body: held.subarray(start + HEAD_BYTES, end) };
      [held, start] = [held.subarray(end), DIGEST_BYTES];
    }
  }
  if (type !== 'E') throw new Error('this recording is cut off');
  if (held.length > DIGEST_BYTES) throw new Error('this recording goes on behind its end');
}

/** The snapshots of a segment that belong to the recording. */
function* snapshotsOf(numbers: Numbers, series: Series): Generator<Snapshot, void> {
  const { byte, unsigned, signed } = numbers;
  const { conditionId, symbol, outcome, timeframe, outcomes, clobTokenIds } = series;
  const labels = { assetId: clobTokenIds[outcomes.indexOf(outcome)]!, conditionId, symbol, outcome, timeframe };
  const [from, taken, version, count] = [unsigned(), unsigned(), unsigned(), unsigned()];
  if (version !== 2) throw new Error('this recording has segments of a version that is not known here');
  // A step that comes twice is followed by how often it comes again.
  const column = (nextStep: () => number) => {
    const values = [unsigned()];
    for (let before = Number.NaN; values.length < count; ) {
      const step = nextStep();
      for (let again = step === before ? unsigned() : 0; again >= 0; again -= 1) values.push(values.at(-1)! + step);
      before = step === before ? Number.NaN : step;
    }
    return values;
  };
  const [times, ids] = [column(unsigned), column(signed)];
  const sideOf = sideReader(numbers);
  let book: Record<'bids' | 'asks', Level[]> = { bids: [], asks: [] };
  for (let i = 0; i < from + taken; i += 1) {
    const edits = i === 0 ? undefined : byte();
    book = { bids: sideOf(-1, book.bids, edits && edits & 15), asks: sideOf(1, book.asks, edits && edits >> 4) };
    if (i >= from) yield { id: String(ids[i]), ...labels, timestamp: new Date(times[i]!).toISOString(), ...book };
  }
}

/** What reads a side: of the first book its levels, then so many edits of the side before (15 stands for 15 and more). */
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

/** The numbers of a payload, one after another: LEB128, and doubles in little endian. */
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
