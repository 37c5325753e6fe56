import { DomainError } from '../../domain/errors.ts';
import { formatInstant, isInstant } from '../../domain/instant.ts';
import { LEVELS_MAX, type OrderBook } from '../../domain/orderbook.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import { type Fields, isFields, nonNegative, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { BookReader, bookOf } from '../../segment/book-decoder.ts';
import { priceCodec } from '../../segment/price-segment.ts';
import { quoteCodec } from '../../segment/quote-segment.ts';
import { looksLikeSegments, type SegmentFrame, segmentFramesOf } from '../../segment/segment-frames.ts';
import { VarintReader } from '../../segment/varint.ts';
import type { Codec } from '../codec.ts';
import type { RecordSink } from '../record-sink.ts';
import { parseRecord, takeRecord } from './ndjson.ts';

/** A market has eight at the most, a coin one per source of its prices. */
const SERIES_MAX = 10_000;

/** A recording as the segments that some archive stored; src/manual/segments.md describes it. */
export function ownSegments(): Codec {
  return {
    format: 'bookreel segments',
    input: '[Segments](segments.md): what an archive stores, as it stores it',
    becomes: 'Every type of record, with the ids that they had.',
    recognises: ({ name, head }) => looksLikeSegments(head) || /\.segments$/i.test(name),
    read: async (file, sink) => {
      const name = `'${file.path}'`;
      const reading = new Reading(name, sink);
      for await (const frame of segmentFramesOf(file.bytes(), name)) reading.take(frame);
    },
  };
}

/** What is known of one file while it is read. */
class Reading {
  readonly #name: string;
  readonly #sink: RecordSink;
  readonly #texts = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** What every record of a series says, by the number of the series. */
  #series: Fields[] = [];
  #records = 0;

  constructor(name: string, sink: RecordSink) {
    this.#name = name;
    this.#sink = sink;
  }

  /** Throws DomainError 'unreadable' where a frame holds what no export writes. */
  take(frame: SegmentFrame): void {
    switch (frame.type) {
      case 'M':
      case 'G':
        if (frame.type === 'M') this.#series = [];
        this.#takeRecord(frame.body);
        break;
      case 'S':
        if (this.#series.length === SERIES_MAX) throw this.#damaged(frame);
        this.#series.push(this.#readable(frame, () => this.#labels(frame.body)));
        break;
      case 'R':
        this.#takeSegment(frame);
        break;
      default:
      // E says what has come; other types are of a later time.
    }
  }

  #takeRecord(body: Uint8Array): void {
    this.#records += 1;
    takeRecord(this.#records, () => parseJsonExactly(this.#text(body)), this.#sink);
  }

  #labels(body: Uint8Array): Fields {
    const labels = parseJsonExactly(this.#text(body));
    if (!isFields(labels)) throw rejected('a series is not an object');
    return labels;
  }

  #text(body: Uint8Array): string {
    try {
      return this.#texts.decode(body);
    } catch {
      throw rejected('it is not UTF-8');
    }
  }

  #takeSegment(frame: SegmentFrame): void {
    const numbers = new VarintReader(frame.body);
    const [series, from, count] = this.#readable(frame, () => [
      numbers.unsigned(),
      numbers.unsigned(),
      numbers.unsigned(),
    ]);
    const labels = this.#series[series];
    const payload = frame.body.subarray(numbers.position);
    if (labels === undefined) throw this.#damaged(frame);
    switch (labels.type) {
      case 'snapshot':
        this.#takeBooks(frame, labels, payload, from, count);
        break;
      case 'quote':
      case 'price':
      case 'coinPrice':
        this.#takeValues(frame, labels, payload, from, count);
        break;
      default:
        this.#sink.ignore('series of another type');
    }
  }

  /** One book after another: large ones are not in memory together. */
  #takeBooks(frame: SegmentFrame, labels: Fields, payload: Uint8Array, from: number, count: number): void {
    const reader = this.#readable(frame, () => new BookReader(payload));
    const { timestamps, ids } = reader.head;
    for (let index = 0; index < from + count; index += 1) {
      this.#readable(frame, () => reader.advanceTo(index));
      // No export writes such a book, and many of them would fill the memory.
      if (reader.bids.length > LEVELS_MAX || reader.asks.length > LEVELS_MAX) throw this.#damaged(frame);
      if (index < from) continue;
      this.#take(labels, timestamps[index]!, ids[index]!, { bids: [], asks: [] }, (item) => {
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
      this.#take(labels, record.timestampMs, record.id, values, (item) => item);
    }
  }

  /** A record of the own format by its labels and `values`; `finish` makes of it what is stored. */
  #take(
    labels: Fields,
    timestampMs: number,
    id: number,
    values: object,
    finish: (item: RecordedItem) => RecordedItem,
  ): void {
    this.#records += 1;
    // As a text, no time is mistaken for one in seconds.
    const timestamp = isInstant(timestampMs) ? formatInstant(timestampMs) : timestampMs;
    const record = { ...labels, id, timestamp, ...values };
    this.#sink.take(String(labels.type), this.#records, () => [finish(parseRecord(record))]);
  }

  /** What `work` reads. Of bytes that no export writes it says so, whatever they were taken for. */
  #readable<T>(frame: SegmentFrame, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof DomainError) throw this.#damaged(frame);
      throw error;
    }
  }

  #damaged({ number }: SegmentFrame): DomainError {
    return new DomainError('unreadable', `${this.#name} is damaged at frame ${number}: export it again`);
  }
}

/** What a recording of segments says has passed a digest, which anybody can make: it is checked like any other. */
function checked(book: OrderBook): OrderBook {
  refuseBad(book.bidPrices, book.bidSizes, 'bids', -1);
  refuseBad(book.askPrices, book.askSizes, 'asks', 1);
  return book;
}

/** The reader has seen to it that prices lie in 0…1. `away`: the direction in which they leave the best one. */
function refuseBad(prices: readonly number[], sizes: readonly number[], name: string, away: -1 | 1): void {
  const sizeName = `a size in ${name}`;
  for (let i = 0; i < prices.length; i += 1) {
    if (nonNegative(sizes[i], sizeName) === 0) throw rejected(`${sizeName} is 0`);
    if (i > 0 && (prices[i]! - prices[i - 1]!) * away <= 0) throw rejected(`${name} is not in order of its prices`);
  }
}
