/** The part of a JSON Schema that is put into words. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Reference {
  readonly $ref: string;
}

interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly requestBody?: { readonly description?: string; readonly content: NonNullable<Response['content']> };
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

/** The part of an OpenAPI document that is put into words. */
export interface DescribedApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly security?: readonly object[];
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
    readonly responses?: Readonly<Record<string, Response>>;
  };
}

/**
 * The service for a reader that knows nothing else, in the form of https://llmstxt.org: a title, a summary in a quote, text
 * without headings, lists of links under headings. All it says of paths, parameters, statuses and records is said by the API
 * document, so the two cannot disagree.
 *
 * @param origin where the client found the service; examples and links begin with it
 */
export function llmsText(api: DescribedApi, origin: string): string {
  const described = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const keyed = described.filter(({ path }) => path.startsWith('/v1/'));
  const operations = keyed.map(({ operation }) => operation);
  const open = described.filter(({ path }) => !path.startsWith('/v1/'));
  const isFree = api.security?.some((scheme) => Object.keys(scheme).length === 0) === true;
  return `# ${api.info.title}

> Recorded order books of short-horizon up-or-down prediction markets (does BTC end a window of 5m, 15m, 1h, 4h or 24h higher
> or lower than it began), over a read-only HTTP API: markets, order book snapshots, quotes, prices. Version ${api.info.version}.

${api.info.description}

Authentication: ${isFree ? 'on loopback none; elsewhere ' : ''}every path below ${origin}/v1 needs the header \`Authorization: Bearer <API_KEY>\`. A key begins with \`br_live_\`; the
operator makes it with \`bookreel key create --tier TIER\`. A key in the URL or in a body is never accepted. 401: no valid key. 403: the
key's tier does not grant this route or coin; /v1/billing/tiers says what each tier grants.

\`\`\`sh
curl -H "Authorization: Bearer $KEY" '${origin}/v1/btc/markets?limit=2'
\`\`\`

Finding things: a market is one window of one coin, with the outcomes up and down. List a coin's markets first; their \`conditionId\`
or \`slug\` goes into the other paths. \`winner\` is up, down, or null while the market is unresolved.

Times: in answers ISO 8601 UTC with milliseconds, like 2026-04-16T07:10:04.123Z. In parameters Unix time in MILLISECONDS (13 digits, not
seconds), or ISO 8601 with Z or an offset, or a bare date. \`from\` and \`to\` are both inclusive.

Numbers: prices and sizes are exact decimals, never rounded; a price is between 0 and 1. Bids descend and asks ascend, so the best level is
first on both sides. Ids are strings of digits: asset ids have up to 78, do not read them as numbers.

Cursor paging: an answer with \`nextCursor\` is one page of a time series. Repeat the request with \`cursor=\` that value and all other
parameters as they were, until \`nextCursor\` is null. A page may have fewer records than \`limit\` and still not be the last. Never make or
change a cursor. Market lists have no cursor: raise \`skip\` by \`pagination.count\` while \`pagination.hasMore\` is true.

Parameters in the query: one that is unknown, repeated or out of bounds is a 400 that says which and why. Integers are plain digits.

Headers of requests:

${bullets(['`Authorization`: as above.', ...headerLines(api, operations)])}

Rate limit: a number of requests a minute per key. When it is used up the answer is 429: wait as many seconds as \`Retry-After\` says, then
repeat. Headers of answers:

${bullets(Object.entries(api.components.headers ?? {}).map(([name, { description = '' }]) => `\`${name}\`: ${sentence(description)}`))}

Errors are \`application/problem+json\`, with what to do in \`detail\`. Repeat after 429 and 503 only; everything else that is refused stays
refused. Statuses beside 200:

${bullets(statusLines(api, operations))}

Endpoints${keyed.every(({ method }) => method === 'GET') ? '. All are GET' : ''}:

${keyed.map(({ path, method, operation }) => endpoint(api, `${method} ${path}`, operation)).join('\n\n')}

Records:

${Object.entries(api.components.schemas)
  .map(([name, schema]) => record(name, schema))
  .join('\n\n')}

## Paths that need no key

${bullets(open.map(({ path, operation }) => `[${operation.summary}](${origin}${path}): ${operation.description}`))}
`;
}

function endpoint(api: DescribedApi, named: string, operation: Operation): string {
  const lines = parametersOf(api, operation).filter(isAsked).map(parameterLine);
  const answers = answersOf(api, operation);
  const { requestBody } = operation;
  const asked = requestBody === undefined ? [] : [`body: ${bodyOf(requestBody.content)}`];
  const bodies = answers.filter(isGood).map(({ status, content }) => `${status}: ${bodyOf(content)}`);
  const others = answers.filter((answer) => !isGood(answer)).map(({ status }) => status);
  const about = `${sentence(operation.summary)} ${operation.description}`;
  return `**${named}** ${about}\n\n${bullets([...lines, ...asked, ...bodies, `else: ${others.join(', ')}`])}`;
}

function isGood({ status }: { readonly status: string }): boolean {
  return status.startsWith('2');
}

/** Whether a parameter is part of the question; headers are about the form of the answer, and said once for all paths. */
function isAsked({ in: where }: Parameter): boolean {
  return where !== 'header';
}

/** The headers that requests may have, each once. */
function headerLines(api: DescribedApi, operations: readonly Operation[]): readonly string[] {
  const headers = operations.flatMap((operation) => parametersOf(api, operation)).filter((given) => !isAsked(given));
  return [...new Set(headers.map(({ name, description = '' }) => `\`${name}\`: ${sentence(description)}`))];
}

function parametersOf(api: DescribedApi, { parameters = [] }: Operation): readonly Parameter[] {
  return parameters.map((given) => ('$ref' in given ? named(api.components.parameters, given) : given));
}

/** What each status means, of all that these operations have; what it means here and there, where that differs. */
function statusLines(api: DescribedApi, operations: readonly Operation[]): readonly string[] {
  const meanings = new Map<string, Set<string>>();
  for (const { status, description } of operations.flatMap((operation) => answersOf(api, operation))) {
    if (status !== '200') meanings.set(status, (meanings.get(status) ?? new Set()).add(sentence(description)));
  }
  return [...meanings].sort().map(([status, said]) => `${status}: ${[...said].join(' ')}`);
}

function answersOf(api: DescribedApi, { responses }: Operation): readonly (Response & { readonly status: string })[] {
  return Object.entries(responses).map(([status, given]) => ({
    status,
    ...('$ref' in given ? named(api.components.responses, given) : given),
  }));
}

function parameterLine({ name, in: where, required = false, description, schema }: Parameter): string {
  const absent = schema.default === undefined ? '' : `, default ${JSON.stringify(schema.default)}`;
  const need = required ? 'required' : 'optional';
  return `\`${name}\` (${where}, ${need}, ${typeOf(schema)}${absent}): ${sentence(description ?? '')}`;
}

function bodyOf(content: Response['content'] = {}): string {
  const types = Object.keys(content);
  if (types.length === 0) return 'nothing';
  const [first] = Object.values(content);
  const body = first?.schema === undefined || first.schema.type === 'string' ? '' : `\`${typeOf(first.schema)}\` as `;
  return `${body}${types.join(' or ')}`;
}

function record(name: string, { description, properties = {} }: Schema): string {
  const fields = Object.entries(properties).map(
    ([field, schema]) => `\`${field}\`: ${[typeOf(schema), schema.description].filter(Boolean).join('. ')}`,
  );
  return `**${name}**${description === undefined ? '' : ` ${sentence(description)}`}\n\n${bullets(fields)}`;
}

/** A schema in a few words, like `integer 1 to 1000` or `{data: array of Market}`. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return lastPart(schema.$ref);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(typeOf).join(' or ');
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  if (schema.properties !== undefined) {
    return `{${Object.entries(schema.properties)
      .map(([name, inner]) => `${name}: ${typeOf(inner)}`)
      .join(', ')}}`;
  }
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['any value']);
  const format = schema.format === undefined ? '' : ` (${schema.format})`;
  return `${types.join(' or ')}${format}${boundsOf(schema)}`;
}

function boundsOf({ minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` from ${minimum}`;
  return maximum === undefined ? '' : ` to ${maximum}`;
}

/** What a reference of the document points to; the document's own are all there. */
function named<T>(components: Readonly<Record<string, T>> = {}, { $ref }: Reference): T {
  const found = components[lastPart($ref)];
  if (found === undefined) throw new Error(`the API document has no ${$ref}`);
  return found;
}

function lastPart(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function sentence(text: string): string {
  return text === '' || /[.!?]$/.test(text) ? text : `${text}.`;
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
