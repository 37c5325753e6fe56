import { expect, setDefaultTimeout, test } from 'bun:test';
import { openApiDocument } from '../../src/cli/openapi.ts';
import { VERSION } from '../../src/cli/version.ts';
import recorded from '../../src/http/openapi/examples.json';
import { exampleKey } from '../../src/http/openapi/examples.ts';
import { HAS_ANVIL } from '../billing/anvil.ts';
import { answersOf, apiDocument, operationsOf, parametersOf, type Schema } from '../support/api-document.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { HAS_EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { cut, liveAnswers, recordsOf } from './openapi-answers.ts';

setDefaultTimeout(120_000);

const DOCUMENT = await apiDocument();

/** They differ between requests, and between keys. */
const DIFFERENT: ReadonlySet<string> = new Set(['requestId', 'keyId', 'prefix']);
const withoutRequestIds = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value, (name, field: unknown) =>
      DIFFERENT.has(name) || (typeof field === 'string' && /^(?:key|quote|pay)_/.test(field)) ? 'any' : field,
    ),
  ) as unknown;

test.skipIf(!HAS_EXECUTABLE)(
  'bookreel openapi prints /openapi.json, except for the indentation (needs make build)',
  async () => {
    using directory = temporaryDirectory();
    await using server = await startServer(directory.path);
    const served = await (await fetch(`${server.origin}/openapi.json`)).text();
    const { code, stdout } = await runExecutable(['openapi']);
    expect(code).toBe(0);
    expect((await runExecutable(['openapi', '--json'])).stdout).toBe(stdout);
    expect(JSON.stringify(JSON.parse(stdout))).toBe(served);
    expect(served).toBe(JSON.stringify(await openApiDocument(VERSION, false)));
  },
);

test.skipIf(!HAS_ANVIL)('Examples in the API document are answers of a live service. (needs anvil)', async () => {
  const live = await liveAnswers();
  expect(withoutRequestIds(recordsOf(live))).toEqual(withoutRequestIds(recorded));
  const shown = new Map<string, unknown>();
  for (const { status, content } of answersOf(DOCUMENT)) {
    for (const [type, { examples = {} }] of Object.entries(content)) {
      for (const { summary, value } of Object.values(examples)) {
        const key = exampleKey(status, summary!.replace(/^GET /, ''));
        shown.set(key, value);
        const answer = live.find(({ status: got, request }) => exampleKey(got, request) === key);
        expect(answer?.type, key).toBe(type);
        expect(withoutRequestIds(value), key).toEqual(withoutRequestIds(cut(answer!.body)));
      }
    }
  }
  const answers = Object.keys(recorded).filter((key) => !key.startsWith('body of '));
  expect([...shown.keys()].sort()).toEqual(answers.sort());
});

test('the examples of parameters, combined by name, are the requests of the examples of answers', () => {
  let compared = 0;
  for (const { path, method, ...operation } of operationsOf(DOCUMENT)) {
    const parameters = parametersOf(DOCUMENT, operation).filter((parameter) => parameter.in !== 'header');
    const { content } = answersOf(DOCUMENT).find((answer) => answer.path === path && answer.status === 200)!;
    const examples = Object.values(content).flatMap((media) => Object.entries(media.examples ?? {}));
    for (const [name, { summary }] of examples) {
      const given = parameters.flatMap((parameter) => {
        const example = parameter.examples?.[name];
        return example === undefined ? [] : [{ ...parameter, text: String(example.value) }];
      });
      const put = given.reduce((filled, { name: of, text }) => filled.replace(`{${of}}`, text), path);
      const query = given.filter(({ in: where }) => where === 'query').map(({ name: of, text }) => `${of}=${text}`);
      expect(summary).toStartWith(`${method.toUpperCase()} `);
      const [asked, search = ''] = summary!.replace(/^[A-Z]+ /, '').split('?');
      expect(put).toBe(asked!);
      expect(query.sort()).toEqual(search.split('&').filter(Boolean).sort());
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(15);
});

test('every answer that is JSON or text has an example, except the document, pages, files, and payments that wait or are refused', () => {
  const without = answersOf(DOCUMENT)
    .filter(({ content }) => Object.keys(content).length > 0)
    .filter(({ content }) => Object.values(content).every(({ examples }) => examples === undefined))
    .map(({ status, path }) => `${status} ${path}`)
    .filter((answer) => !/^(?:202|410|413|415) \/v1\/billing\/x402\//.test(answer));
  expect(without.sort()).toEqual(
    ['/openapi.json', '/llms.txt', '/docs', '/docs/{page}', '/docs/segment-reader.ts', '/sdk']
      .map((path) => `200 ${path}`)
      .sort(),
  );
});

test('every parameter has a description, a schema and an example', () => {
  for (const { path, ...operation } of operationsOf(DOCUMENT)) {
    for (const { name, in: where, description, schema, example, examples } of parametersOf(DOCUMENT, operation)) {
      const label = `${path} ${name}`;
      expect(description.length, label).toBeGreaterThan(10);
      expect(example !== undefined || Object.keys(examples ?? {}).length > 0, label).toBe(true);
      if (where !== 'header') expect((schema.anyOf ?? [schema]).every(isBounded), label).toBe(true);
    }
  }
});

function isBounded({ type, minimum, maximum, pattern, enum: words }: Schema): boolean {
  const isInteger = [type].flat().includes('integer');
  return isInteger ? minimum !== undefined && maximum !== undefined : pattern !== undefined || words !== undefined;
}

test('every schema, field and header is described; every field is required except the issues of a problem and the totals of a list', () => {
  const { schemas, headers } = DOCUMENT.components;
  const optional: string[] = [];
  const walk = (schema: Schema, label: string) => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const at = `${label}.${name}`;
      if (!schema.required?.includes(name)) optional.push(at);
      if (field.$ref === undefined) expect(field.description?.length ?? 0, at).toBeGreaterThan(3);
      walk(field, at);
      if (field.items !== undefined) walk(field.items, `${at}[]`);
    }
  };
  for (const [name, schema] of Object.entries(schemas)) {
    expect(schema.description, name).toBeString();
    walk(schema, name);
  }
  expect(optional.toSorted()).toEqual([
    'MarketList.pagination.recorded',
    'MarketList.pagination.total',
    'Problem.issues',
  ]);
  for (const [name, { description, example }] of Object.entries(headers)) {
    expect(description.length, name).toBeGreaterThan(5);
    expect(example, name).toBeDefined();
  }
});
