import { expect } from 'bun:test';
import { answersOf, apiDocument, type DescribedAnswer, pathFinder, type Schema } from '../support/api-document.ts';

/** Headers that servers and proxies add to any answer. The document has only headers of this service. */
const OF_THE_TRANSPORT: ReadonlySet<string> = new Set([
  ...['date', 'content-length', 'content-type', 'transfer-encoding', 'connection', 'keep-alive'],
  ...['server', 'via', 'age', 'alt-svc', 'strict-transport-security'],
]);
const DOCUMENT = await apiDocument();
const describedPath = pathFinder(DOCUMENT);
const ANSWERS: ReadonlyMap<string, DescribedAnswer> = new Map(
  answersOf(DOCUMENT).map((answer) => [`${answer.status} ${answer.path}`, answer]),
);

/** Checks that the document has the status, media type and headers of an answer to GET or HEAD. */
export function expectDescribed(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  method: string,
  path: string,
  label: string,
): void {
  const template = describedPath(path);
  if (template === undefined || (method !== 'GET' && method !== 'HEAD')) return;
  const described = ANSWERS.get(`${status} ${template}`);
  expect(described?.status, `${label}: the document knows the status`).toBe(status);
  const types = Object.keys(described!.content);
  const type = headers.get('content-type')?.split(';')[0];
  if (types.length === 0) expect(type, label).toBeUndefined();
  else expect(types, label).toContain(type!);
  const listed = new Map(Object.entries(described!.headers).map(([name, header]) => [name.toLowerCase(), header]));
  for (const [name, value] of headers) {
    if (OF_THE_TRANSPORT.has(name) || name.startsWith('access-control-')) continue;
    const header = listed.get(name);
    expect(header === undefined ? `${name} is not listed` : name, label).toBe(name);
    expect(isOfSchema(value, header!.schema), `${label}: ${name}: ${value}`).toBe(true);
  }
  for (const [name, { required = false }] of listed)
    if (required) expect(headers.has(name), `${label}: ${name}`).toBe(true);
}

function isOfSchema(
  text: string,
  { type, pattern, enum: words, minimum = -Infinity, maximum = Infinity }: Schema,
): boolean {
  if (type === 'integer') return /^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
  return (pattern === undefined || new RegExp(pattern).test(text)) && (words === undefined || words.includes(text));
}
