import type { ManualPage } from '../../manual/manual.ts';
import { manualPath } from '../pages/manual-menu.tsx';

/** The part of a JSON Schema that the text describes. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly schema: Schema;
}

interface Operation {
  readonly summary: string;
  readonly description: string;
  /** References are headers. */
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

/** The part of an OpenAPI document that the text describes. */
export interface DescribedApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly security?: readonly object[];
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/**
 * A description of the service for language models, in the format of https://llmstxt.org: a title, a summary in a quote, text without
 * headings, lists of links under headings. Paths, parameters and records come from the API document.
 *
 * @param origin the origin in the client's URL; examples and links begin with it
 */
export function llmsText(api: DescribedApi, manual: readonly ManualPage[], origin: string): string {
  const described = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const keyed = described.filter(({ path }) => path.startsWith('/v1/'));
  const open = described.filter(({ path }) => !path.startsWith('/v1/') && path !== '/docs/{page}');
  const isFree = api.security?.some((scheme) => Object.keys(scheme).length === 0) === true;
  return `# ${api.info.title}

> Recorded order books of short-horizon up-or-down prediction markets (does BTC end a window of 5m, 15m, 1h, 4h or 24h higher
> or lower than it began?), as a read-only HTTP API: markets, order book snapshots, quotes, prices. Version ${api.info.version}.

${api.info.description}

Authentication: ${isFree ? 'none on loopback; on other addresses ' : ''}every path below ${origin}/v1 needs the header \`Authorization: Bearer <API_KEY>\`, never a key in the URL.
401: no valid key. 403: the key's tier does not grant this route or coin; /v1/billing/tiers lists what each tier grants. 429: wait for the
number of seconds in \`Retry-After\`. Repeat requests only after 429, 502, 503 and 504, and after a broken connection. Errors are \`application/problem+json\`; \`detail\` says what to do.

\`\`\`sh
curl -H "Authorization: Bearer $BOOKREEL_KEY" '${origin}/v1/btc/markets?limit=2'
\`\`\`

A market is one window of one coin, with the outcomes up and down. List a coin's markets first: the other paths take their \`conditionId\`
or \`slug\`. \`winner\` is null while a market is unresolved. Times in parameters are Unix time in MILLISECONDS (13 digits, not
seconds) or ISO 8601. Prices are between 0 and 1, the best level of a book is first on both sides, ids are strings.

An answer with \`nextCursor\` is one page: repeat the request with \`cursor=\` that value and the same other parameters, until
\`nextCursor\` is null, even if a page has few records. Market lists have no cursor: raise \`skip\` by \`pagination.count\` while
\`pagination.hasMore\` is true.

Endpoints with their parameters:

${bullets(keyed.map(({ path, method, operation }) => endpointLine(`${method} ${path}`, operation)))}

Parameters; a request with an unknown, repeated or out-of-bounds parameter gets a 400:

${bullets([...new Set(keyed.flatMap(({ operation }) => parametersOf(operation)).map(parameterLine))])}

Records and answers with their fields; /openapi.json has their types:

${bullets(Object.entries(api.components.schemas).map(([name, { properties = {} }]) => `${name}: ${Object.keys(properties).join(', ')}`))}

## Manual

${bullets(manual.map(({ name, title, summary }) => `[${title}](${origin}${manualPath(`${name}.md`)}): ${summary}`))}

## Paths that need no key

${bullets(open.map(({ path, operation }) => `[${operation.summary}](${origin}${path}): ${operation.description}`))}
`;
}

function endpointLine(target: string, operation: Operation): string {
  const query = parametersOf(operation).filter((parameter) => parameter.in === 'query');
  const names = query.map(({ name }) => name).join('&');
  return `\`${target}${names === '' ? '' : `?${names}`}\` ${operation.summary}. ${operation.description}`;
}

function parametersOf({ parameters = [] }: Operation): readonly Parameter[] {
  return parameters.flatMap((parameter) => ('$ref' in parameter ? [] : parameter));
}

function parameterLine({ name, in: where, description, schema }: Parameter): string {
  const { type = 'text', enum: words, minimum, maximum, default: absent } = schema;
  const bounds = minimum === undefined ? '' : ` ${minimum} to ${maximum}`;
  const form = words?.join(' or ') ?? `${[type].flat().join(' or ')}${bounds}`;
  return `\`${name}\` (${where}, ${form}${absent === undefined ? '' : `, default ${absent}`}): ${description}`;
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
