import type { Codec } from '../codec.ts';
import { looksLikeMsgpackRecord, msgpackRecordsOf } from './msgpack.ts';
import { kindOf, parseRecord, UNKNOWN_KIND } from './ndjson.ts';

/** The own format as a stream of msgpack maps. */
export function ownMsgpack(): Codec {
  return {
    format: 'bookreel msgpack',
    statesMarkets: false,
    recognises: ({ name, head }) => looksLikeMsgpackRecord(head) || /\.msgpack$/i.test(name),
    read: async (file, intake) => {
      for await (const record of msgpackRecordsOf(file.bytes(), `'${file.path}'`)) {
        let kind = UNKNOWN_KIND;
        let value: unknown;
        let unreadable: unknown;
        try {
          value = record.value();
          kind = kindOf(value);
        } catch (error) {
          unreadable = error;
        }
        intake.take(kind, record.number, () => {
          if (unreadable !== undefined) throw unreadable;
          return [parseRecord(value)];
        });
      }
    },
  };
}
