import { DomainError } from '../../domain/errors.ts';
import { formatInstant, instantOrNull, isInstant } from '../../domain/instant.ts';
import { LEVELS_MAX, type OrderBook } from '../../domain/orderbook.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import { type Fields, isFields, nonNegative, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { BookReader, bookOf } from '../../segment/book-decoder.ts';
import { priceCodec } from '../../segment/price-segment.ts';
import { quoteCodec } from '../../segment/quote-segment.ts';
import { looksLikeSegments, type SegmentFrame, segmentFramesOf } from '../../segment/segment-frames.ts';
import type { Received } from '../../segment/segment-header.ts';
import { VarintReader } from '../../segment/varint.ts';
import type { Codec } from '../codec.ts';
import { decodedText, EXACT_UTF8 } from '../parse/utf8.ts';
import type { RecordSink } from '../record-sink.ts';
import { unreadable } from '../source.ts';
import { parseRecord, takeRecord } from './ndjson.ts';

/** The types of series without books. */
const VALUE_TYPES: readonly unknown[] = ['quote', 'price', 'lastTradePrice', 'coinPrice'];
/** A market has ten series at most, a coin one per source of its prices. */
const SERIES_MAX = 10_000;

/** bookreel's own format as the segments of an archive, described in src/manual/segments.md. */
export function bookreelSegments(): Codec {
  return {
    format: 'bookreel segments',
    input: '[Segments](segments.md): the segments of an archive, unchanged',
    becomes: 'Every type of record, with the ids that they had.',
    recognises: ({ name, head }) => looksLikeSegments(head) || /\.segments$/i.test(name),
    holdsMarkets: () => true,
    read: async (file, sink) => {
      const name = `'${file.path}'`;
      const reader = new SegmentsReader(name, sink);
      for await (const frame of segmentFramesOf(file.bytes(), name)) reader.take(frame);
    },
  };
}

class SegmentsReader {
  readonly #name: string;
  readonly #sink: RecordSink;
  /** The fields that all records of a series share, by the number of the series. */
  #series: Fields[] = [];
  #records = 0;

  constructor(name: string, sink: RecordSink) {
    this.#name = name;
    this.#sink = sink;
  }

  /** Throws DomainError 'unreadable' for a frame that no export writes. */
  take(frame: SegmentFrame): void {
    const { type, body } = frame;
    if (type === 'M') this.#series = [];
    if (type === 'M' || type === 'G') {
      this.#records += 1;
      takeRecord(this.#records, () => parsedBody(body), this.#sink);
    } else if (type === 'S') {
      const labels = this.#readable(frame, () => parsedBody(body));
      if (this.#series.length === SERIES_MAX || !isFields(labels)) throw this.#damaged(frame);
      this.#series.push(labels);
    } else if (type === 'R') this.#takeSegment(frame);
    // An E frame only repeats the counts. Other types belong to later versions.
  }

  #takeSegment(frame: SegmentFrame): void {
    const numbers = new VarintReader(frame.body);
    const next = () => this.#readable(frame, () => numbers.unsigned());
    const [series, from, count] = [next(), next(), next()];
    const labels = this.#series[series];
    const payload = frame.body.subarray(numbers.position);
    if (labels === undefined) throw this.#damaged(frame);
    if (labels.type === 'snapshot') this.#takeBooks(frame, labels, payload, from, count);
    else if (VALUE_TYPES.includes(labels.type)) {
      this.#takeValues(frame, labels, payload, from, count);
    } else this.#sink.ignore('series of another type');
  }

  /** Decodes one book at a time: many large ones would not fit into memory. */
  #takeBooks(frame: SegmentFrame, labels: Fields, payload: Uint8Array, from: number, count: number): void {
    const reader = this.#readable(frame, () => new BookReader(payload));
    const { timestamps, ids } = reader.head;
    for (let index = 0; index < from + count; index += 1) {
      this.#readable(frame, () => reader.advanceTo(index));
      // No export writes such a book.
      if (reader.bids.length > LEVELS_MAX || reader.asks.length > LEVELS_MAX) throw this.#damaged(frame);
      if (index < from) continue;
      const receivedMs = this.#readable(frame, () => reader.receivedMs);
      const record = { timestampMs: timestamps[index]!, id: ids[index]!, receivedMs };
      this.#take(labels, record, { bids: [], asks: [] }, (item) => {
        if (item.type !== 'snapshot') throw this.#damaged(frame);
        return { ...item, book: checked(bookOf(reader)) };
      });
    }
  }

  #takeValues(frame: SegmentFrame, labels: Fields, payload: Uint8Array, from: number, count: number): void {
    const records = this.#readable(frame, () =>
      labels.type === 'quote' ? quoteCodec.decode(payload) : priceCodec.decode(payload),
    );
    if (from + count > records.length) throw this.#damaged(frame);
    for (const record of records.slice(from, from + count)) {
      const values = 'quote' in record ? record.quote : { price: record.price, ...record.trade };
      this.#take(labels, record, values, (item) => item);
    }
  }

  /** Adds the record of `labels` and `values`. `finish` completes the parsed record. */
  #take(
    labels: Fields,
    { timestampMs, id, receivedMs }: Received,
    values: object,
    finish: (item: RecordedItem) => RecordedItem,
  ): void {
    this.#records += 1;
    // As text: `parseRecord` rejects numbers that look like seconds.
    const timestamp = isInstant(timestampMs) ? formatInstant(timestampMs) : timestampMs;
    const receivedAt = instantOrNull(receivedMs);
    const record = { ...labels, id, timestamp, receivedAt, ...values };
    this.#sink.take(String(labels.type), this.#records, () => [finish(parseRecord(record))]);
  }

  /** Runs `work`; its DomainErrors become 'unreadable' with the number of the frame. */
  #readable<T>(frame: SegmentFrame, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof DomainError) throw this.#damaged(frame);
      throw error;
    }
  }

  #damaged({ number }: SegmentFrame): DomainError {
    return unreadable(`${this.#name} is damaged at frame ${number}: export it again`);
  }
}

function parsedBody(body: Uint8Array): unknown {
  return parseJsonExactly(decodedText(EXACT_UTF8, body, 'it is not UTF-8'));
}

/** Checks a book as for any other format: correct digests prove nothing, because anybody can compute them. */
function checked(book: OrderBook): OrderBook {
  refuseBad(book.bidPrices, book.bidSizes, 'bids', -1);
  refuseBad(book.askPrices, book.askSizes, 'asks', 1);
  return book;
}

/** `away`: -1 for bids, whose prices descend from the best one, and 1 for asks. The reader has checked that prices are in 0…1. */
function refuseBad(prices: readonly number[], sizes: readonly number[], name: string, away: -1 | 1): void {
  const sizeName = `a size in ${name}`;
  for (let i = 0; i < prices.length; i += 1) {
    if (nonNegative(sizes[i], sizeName) === 0) throw rejected(`${sizeName} is 0`);
    if (i > 0 && (prices[i]! - prices[i - 1]!) * away <= 0) throw rejected(`the prices of ${name} are not in order`);
  }
}
