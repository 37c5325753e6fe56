import type { Json, JsonObject } from './schema.ts';

/** What every answer has, but those of the HTTP parser. */
const ALWAYS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Content-Type-Options',
];

export function headersNamed(names: readonly string[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const header = (description: string, schema: JsonObject, example: Json, required = false): JsonObject => ({
  description,
  ...(required ? { required } : {}),
  schema,
  example,
});
const TEXT = { type: 'string' };
/** A header that always has this value. */
const fixed = (description: string, value: string, required = false) =>
  header(description, { type: 'string', enum: [value] }, value, required);

/** Every header of an answer that is particular to this service, or decides what a client does. */
export const HEADERS: JsonObject = {
  'X-RateLimit-Limit': header('Requests a minute.', { type: 'integer', minimum: 1 }, 300, true),
  'X-RateLimit-Remaining': header('Requests left in this window.', { type: 'integer', minimum: 0 }, 299, true),
  'X-RateLimit-Reset': header('When the window ends, Unix seconds.', { type: 'integer', minimum: 0 }, 1767868380, true),
  'X-Request-Id': header(
    'Names this request; a trusted proxy may have named it.',
    { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    'adf59b20-3770-4b11-b127-754c23497cf7',
    true,
  ),
  'X-Content-Type-Options': fixed('Always nosniff.', 'nosniff', true),
  'X-Bookreel-Warning': header(
    'The request was served as it stands, and is probably not what was meant: times that look like seconds.',
    TEXT,
    'from=1767868300 looks like seconds; integer times are Unix milliseconds',
  ),
  ETag: header(
    'A strong entity tag, of answers about resolved markets.',
    { type: 'string', pattern: '^"[0-9a-z]+-[0-9a-z]+"$' },
    '"19d7o28jgwf-2t4ltrctgwqlh"',
  ),
  Vary: header('What else an answer depends on.', TEXT, 'Accept, Accept-Encoding', true),
  'Cache-Control': header('What may be kept: refusals never.', TEXT, 'private, no-cache'),
  'Content-Encoding': header(
    'Where compression makes the answer smaller and the client takes it.',
    { type: 'string', enum: ['zstd', 'gzip'] },
    'zstd',
  ),
  'X-Accel-Buffering': fixed(
    'Of streams: a proxy that collects answers must pass this one on as it comes.',
    'no',
    true,
  ),
  'Content-Disposition': header(
    'A name for the file.',
    { type: 'string', pattern: '^attachment; filename="[A-Za-z0-9._-]+"$' },
    'attachment; filename="simulated-btc-updown-5m-1767868200.ndjson"',
    true,
  ),
  'Retry-After': header(
    'Seconds to wait until the window ends, or a stream may have.',
    { type: 'integer', minimum: 1, maximum: 60 },
    42,
    true,
  ),
  'WWW-Authenticate': fixed('Always Bearer.', 'Bearer', true),
  'Content-Security-Policy': header('What a browser that shows it may load.', TEXT, "default-src 'none'"),
  'Referrer-Policy': fixed('Of pages.', 'no-referrer'),
  'Cross-Origin-Opener-Policy': fixed('Of pages.', 'same-origin'),
};

/** Those of a process that replays: requests are counted where keys are needed only. */
export const REPLAY_HEADERS: JsonObject = {
  ...HEADERS,
  ...Object.fromEntries(
    ALWAYS.filter((name) => name.startsWith('X-RateLimit')).map((name) => [
      name,
      optional(HEADERS[name] as JsonObject),
    ]),
  ),
  Location: header('Where it is found.', { type: 'string' }, '/v1/replays/0a1b2c3d4e5f', true),
};

function optional({ required: _, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** Request headers that make a difference; Accept is described by the media types of the answers, Authorization by the scheme. */
export const HEADER_PARAMETERS: JsonObject = {
  ...headerParameter(
    'Accept-Encoding',
    'zstd and gzip are honoured where they make the answer smaller; of what is liked equally well, zstd. Anything else is ignored.',
    'zstd, gzip',
  ),
  ...headerParameter(
    'Last-Event-ID',
    'The id of the last event that came, of a stream with the same path, from, to, outcome and depth: what follows it is sent.',
    'AZudKX0nAAAAAAAA5suY9IjDRFEP',
  ),
  ...headerParameter(
    'If-None-Match',
    'Entity tags of the copies at hand: 304 when one of them is the answer that would be sent.',
    '"19d7o28jgwf-2t4ltrctgwqlh"',
  ),
};

function headerParameter(name: string, description: string, example: string): JsonObject {
  return { [name]: { name, in: 'header', required: false, description, schema: { type: 'string' }, example } };
}

/** The request headers of a path, as the document writes it, by their names among the components. */
export function acceptedHeaders(path: string): readonly string[] {
  if (!path.startsWith('/v1/') || path.startsWith('/v1/replays')) return [];
  if (path.endsWith('/stream')) return ['Last-Event-ID'];
  return path.includes('{conditionId}') ? ['Accept-Encoding', 'If-None-Match'] : ['Accept-Encoding'];
}
