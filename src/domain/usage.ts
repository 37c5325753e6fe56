import { type Static, Type } from 'typebox';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Keys that an answer lists; its other sums are of all keys. */
export const USAGE_KEYS_MAX = 1000;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const COUNTS = {
  requests: count('Requests with a valid key, refused ones too.'),
  forbidden: count('Of these, refused with 403: the tier does not grant the route or the coin.'),
  limited: count('Of these, refused with 429.'),
  failed: count('Of these, with another status of 400 and above.'),
  bytes: count('Bytes of the sent bodies, as compressed.'),
};

const UsageCounts = Type.Object(COUNTS);
export type UsageCounts = Static<typeof UsageCounts>;

export const UsageResource = Type.Object(
  {
    from: Type.String({ format: 'date-time', description: 'Start of the first interval.' }),
    to: Type.String({ format: 'date-time', description: 'Latest start of an hour that is counted.' }),
    interval: Type.Union([Type.Literal('hour'), Type.Literal('day')], {
      description: 'Length of the intervals, in UTC.',
    }),
    intervals: Type.Array(
      Type.Object({ start: Type.String({ format: 'date-time', description: 'Start of the interval.' }), ...COUNTS }),
      { description: 'The intervals with requests, in order.' },
    ),
    keys: Type.Array(Type.Object({ keyId: Type.String({ description: 'Id of the key.' }), ...COUNTS }), {
      description: `The sums of each key with requests; of more than ${USAGE_KEYS_MAX} keys, of those with most requests.`,
    }),
    routes: Type.Array(Type.Object({ route: Type.String({ description: 'Template of the path.' }), ...COUNTS }), {
      description: 'The sums of each route with requests.',
    }),
  },
  { $id: 'Usage', description: 'Requests of the keys of an account.' },
);
export type UsageResource = Static<typeof UsageResource>;

export const NO_USAGE: UsageCounts = { requests: 0, forbidden: 0, limited: 0, failed: 0, bytes: 0 };

/** Usage that is being summed. */
export type UsageSum = { -readonly [Field in keyof UsageCounts]: UsageCounts[Field] };

export function addUsage(sum: UsageSum, counts: UsageCounts): void {
  sum.requests += counts.requests;
  sum.forbidden += counts.forbidden;
  sum.limited += counts.limited;
  sum.failed += counts.failed;
  sum.bytes += counts.bytes;
}
