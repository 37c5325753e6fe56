import type { Codec } from '../codec.ts';
import { looksLikeMsgpackRecord, msgpackRecordsOf } from '../parse/msgpack.ts';
import { takeRecord } from './ndjson.ts';

/** The text `market` as msgpack encodes it. */
const MARKET = Buffer.from('\u00a6market', 'latin1');

export function bookreelMsgpack(): Codec {
  return {
    format: 'bookreel msgpack',
    input: "bookreel's own records as msgpack maps",
    becomes: 'Every type of record, with the ids that they had.',
    recognises: ({ name, head }) => looksLikeMsgpackRecord(head) || /\.msgpack$/i.test(name),
    holdsMarkets: ({ head }) => Buffer.from(head.buffer, head.byteOffset, head.length).includes(MARKET),
    read: async (file, sink) => {
      for await (const record of msgpackRecordsOf(file.bytes(), `'${file.path}'`)) {
        takeRecord(record.number, record.value, sink);
      }
    },
  };
}
