import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { BookChange, RecordLevel, TardisRecord } from './tardis-record.ts';

/** Records as JSON. Changes of books, of which there are most, are written by hand: in half the time, to the same text. */
export class RecordTexts {
  /** Of the instant that was written last: there are many of one. */
  #ms: InstantMs = -1;
  #instant = '';

  text(record: TardisRecord): string {
    return record.type === 'book_change' ? this.#change(record) : JSON.stringify(record);
  }

  #change({ symbol, exchange, isSnapshot, bids, asks, timestamp, localTimestamp }: BookChange): string {
    return `{"type":"book_change","symbol":"${symbol}","exchange":"${exchange}","isSnapshot":${isSnapshot},"bids":[${levelsText(bids)}],"asks":[${levelsText(asks)}],"timestamp":"${this.#instantText(timestamp)}","localTimestamp":"${this.#instantText(localTimestamp)}"}`;
  }

  #instantText(date: Date): string {
    const ms = date.getTime();
    if (ms !== this.#ms) {
      this.#ms = ms;
      this.#instant = formatInstant(ms);
    }
    return this.#instant;
  }
}

function levelsText(levels: readonly RecordLevel[]): string {
  let text = '';
  for (const { price, amount } of levels) text += `${text === '' ? '' : ','}{"price":${price},"amount":${amount}}`;
  return text;
}
