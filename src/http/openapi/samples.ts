import { bodyKey, recordedAnswer } from './examples.ts';
import type { Json, JsonObject } from './schema.ts';

/** Methods of the clients with another name than their operation. */
const NAMES: Readonly<Record<string, string>> = { marketPrices: 'prices', nearest: 'bookAt', nearestOfEach: 'bookAt' };
/** Methods that walk over all pages or events, and so set the page themselves. */
const WALKS: readonly string[] = ['markets', 'snapshots', 'quotes', 'marketPrices', 'coinPrices', 'stream'];
const PAGE: readonly string[] = ['limit', 'skip', 'cursor', 'before'];
/** Methods of the client for TypeScript, which has all other operations as `get` and `send`. */
const OF_TYPESCRIPT: readonly string[] = [...WALKS, 'market', 'nearest', 'nearestOfEach', 'coverage', 'export'];
const EXPORTED = 'market.ndjson';
const KEYWORDS_OF_PYTHON: readonly string[] = ['from', 'in'];

type Named = readonly (readonly [name: string, value: string])[];

/** An example request of an operation, taken apart. */
interface Call {
  readonly operationId: string;
  readonly method: string;
  /** The path as the document writes it. */
  readonly template: string;
  readonly inPath: Named;
  readonly query: Named;
  readonly body: Json | undefined;
}

/**
 * An example request with curl and with both clients, as the reference shows it. Address and key are those of the environment. `request`:
 * `/v1/btc/markets?limit=1`, after `POST ` if that is the method.
 */
export function codeSamples(operationId: string, template: string, request: string): JsonObject[] {
  const [target = '', method = 'GET'] = request.split(' ').reverse();
  const [path = '', search = ''] = target.split('?');
  const values = path.split('/');
  const inPath = template
    .split('/')
    .flatMap((part, i) => (part.startsWith('{') ? [[part.slice(1, -1), values[i]!] as const] : []));
  const query = [...new URLSearchParams(search)];
  const call: Call = { operationId, method, template, inPath, query, body: recordedAnswer(bodyKey(request)) };
  return [
    { lang: 'Shell', label: 'curl', source: curl(call, target) },
    { lang: 'Python', label: 'Python', source: python(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
  ];
}

function curl({ method, template, body }: Call, target: string): string {
  const key = template.startsWith('/v1/') ? '-H "Authorization: Bearer $BOOKREEL_KEY" ' : '';
  const sent = body === undefined ? '' : `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}' `;
  return `curl -s ${method === 'GET' ? '' : `-X ${method} `}${key}${sent}"$BOOKREEL_URL${target}"`;
}

function python({ operationId, template, inPath, query, body }: Call): string {
  const isWalk = WALKS.includes(operationId) || operationId === 'history';
  const about = template.includes('{conditionId}') ? [marketOf(inPath)] : inPath.map(([, value]) => value);
  const positional = leading(operationId, inPath, query) ?? about.map((value) => JSON.stringify(value));
  const words = selected(query, isWalk).map(([name, value]) => `${snake(name)}=${literal(value, 'True', 'False')}`);
  const sent = body === undefined ? [] : [JSON.stringify(body)];
  const called = `client.${snake(NAMES[operationId] ?? operationId)}(${[...positional, ...sent, ...words].join(', ')})`;
  const shown = isWalk ? `for record in ${called}:\n    print(record)` : `print(${called})`;
  return `from bookreel import Client\n\nclient = Client()\n${shown}`;
}

function typescript({ operationId, method, template, inPath, query, body }: Call): string {
  const isWalk = WALKS.includes(operationId);
  const own = OF_TYPESCRIPT.includes(operationId) ? (leading(operationId, inPath, query) ?? []) : undefined;
  const inObject = own === undefined || own.length === 0 ? inPath : [];
  const fields = [...inObject, ...selected(query, isWalk)].map(
    ([name, value]) => `${name}: ${literal(value, 'true', 'false')}`,
  );
  const object = fields.length > 0 ? [`{ ${fields.join(', ')} }`] : body === undefined ? [] : ['{}'];
  const sent = body === undefined ? [] : [JSON.stringify(body)];
  const generic =
    method === 'GET' ? [JSON.stringify(template)] : [JSON.stringify(method.toLowerCase()), JSON.stringify(template)];
  const name = own !== undefined ? (NAMES[operationId] ?? operationId) : method === 'GET' ? 'get' : 'send';
  const called = `client.${name}(${[...(own ?? generic), ...object, ...sent].join(', ')})`;
  const shown = isWalk ? `for await (const record of ${called}) console.log(record);` : `console.log(await ${called});`;
  return `import { Client } from '@bookreel/client';\n\nconst client = new Client();\n${shown}`.replaceAll('"', "'");
}

/** The first arguments of a method about a market or a series of a coin, in both languages; undefined: all arguments are named. */
function leading(operationId: string, inPath: Named, query: Named): string[] | undefined {
  const path = Object.fromEntries(inPath);
  if (operationId === 'coinPrices') return [JSON.stringify(path.coin)];
  if (!OF_TYPESCRIPT.includes(operationId) || path.conditionId === undefined) return undefined;
  const market = JSON.stringify(marketOf(inPath));
  if (operationId === 'export') return [market, JSON.stringify(EXPORTED)];
  if (operationId === 'nearest') return [market, literal(path.ts ?? '', '', '')];
  if (operationId !== 'nearestOfEach') return [market];
  const instants = Object.fromEntries(query).ts?.split(',') ?? [];
  return [market, `[${instants.map((instant) => literal(instant, '', '')).join(', ')}]`];
}

function marketOf(inPath: Named): string {
  const { coin, conditionId } = Object.fromEntries(inPath);
  return `${coin}/${conditionId}`;
}

function selected(query: Named, isWalk: boolean): Named {
  return query.filter(([name]) => name !== 'ts' && !(isWalk && PAGE.includes(name)));
}

function literal(text: string, yes: string, no: string): string {
  if (text === 'true') return yes;
  if (text === 'false') return no;
  return /^\d+$/.test(text) ? text : JSON.stringify(text);
}

function snake(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return KEYWORDS_OF_PYTHON.includes(words) ? `${words}_` : words;
}
