import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from 'msgpackr';
import { seed } from '../../src/cli/seed.ts';
import { liveAnswers } from '../http/openapi-answers.ts';
import { answersOf, apiDocument, operationsOf, pathFinder } from '../support/api-document.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { serviceOf } from '../support/service.ts';

setDefaultTimeout(120_000);

/** The part of Ajv that is used here; it is installed next to this file. */
interface Validate {
  (value: unknown): boolean;
  readonly errors?: readonly object[] | null;
}
interface Ajv {
  addSchema(schema: object, key: string): Ajv;
  getSchema(reference: string): Validate | undefined;
}
type AjvConstructor = new (options: object) => Ajv;

const DOCUMENT = await apiDocument();
const describedPath = pathFinder(DOCUMENT);
const INSTALLED = join(import.meta.dir, 'node_modules');
const IS_INSTALLED = existsSync(join(INSTALLED, 'ajv'));

/** The validator of a body by path, status and media type. */
async function judges(): Promise<(path: string, status: number, type: string) => Validate> {
  const { default: Ajv2020 } = (await import(join(INSTALLED, 'ajv/dist/2020.js'))) as { default: AjvConstructor };
  const { default: addFormats } = (await import(join(INSTALLED, 'ajv-formats'))) as { default: (ajv: Ajv) => void };
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  ajv.addSchema(DOCUMENT, 'document');
  const pointers = new Map<string, string>();
  const escaped = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
  for (const { path, method, responses } of operationsOf(DOCUMENT)) {
    for (const [status, response] of Object.entries(responses)) {
      const at = '$ref' in response ? response.$ref : `#/paths/${escaped(path)}/${method}/responses/${status}`;
      const { content } = answersOf(DOCUMENT).find(
        (answer) => answer.path === path && String(answer.status) === status,
      )!;
      for (const type of Object.keys(content)) {
        pointers.set(`${path} ${status} ${type}`, `document${at}/content/${escaped(type)}/schema`);
      }
    }
  }
  return (path, status, type) => ajv.getSchema(pointers.get(`${path} ${status} ${type}`)!)!;
}

/** Copies of `value` with one field missing, added or of another type, at any depth; each with the place of the change. */
function* damaged(value: unknown, at = ''): Generator<[string, unknown]> {
  if (value === null || typeof value !== 'object') return;
  if (Array.isArray(value)) {
    const [first, ...rest] = value as unknown[];
    for (const [place, changed] of damaged(first, `${at}[]`)) yield [place, [changed, ...rest]];
    return;
  }
  yield [`${at} with another field`, { ...value, another: 1 }];
  for (const [name, inner] of Object.entries(value)) {
    const { [name as keyof typeof value]: _, ...rest } = value;
    yield [`${at} without ${name}`, rest];
    yield [`${at}.${name} of no type there is`, { ...value, [name]: { neither: ['this', 'nor that'] } }];
    for (const [place, changed] of damaged(inner, `${at}.${name}`)) yield [place, { ...value, [name]: changed }];
  }
}

/** Only problems with parameters have issues, a market without its counts is a market, and a list states totals on request. */
const MAY_LACK =
  /(?: without (?:issues|snapshotCount|recordedSeconds|windowSeconds)|\.pagination without (?:total|recorded))$/;

describe.skipIf(!IS_INSTALLED)(
  'bodies, validated with Ajv by the schemas of the document (skipped if Ajv is not installed)',
  () => {
    test('every example is valid as shown and as sent, and invalid with a field missing, added or of another type', async () => {
      const judgeOf = await judges();
      const answers = await liveAnswers();
      let refused = 0;
      for (const { path, status, content } of answersOf(DOCUMENT)) {
        for (const [type, { examples = {} }] of Object.entries(content)) {
          const judge = judgeOf(path, status, type);
          for (const [name, { value, summary }] of Object.entries(examples)) {
            expect(judge(value) || judge.errors, `${status} ${path} ${name}`).toBe(true);
            const sent = answers.find((answer) => answer.status === status && summary?.endsWith(answer.request))!;
            expect(judge(sent.body) || judge.errors, `${status} ${path} ${name}`).toBe(true);
            if (typeof value === 'string') continue;
            for (const [place, changed] of damaged(value)) {
              // Links may have any name.
              if (place.startsWith('.links') || MAY_LACK.test(place)) continue;
              expect(judge(changed), `${status} ${path} ${name}: ${place}`).toBe(false);
              refused += 1;
            }
          }
        }
      }
      expect(refused).toBeGreaterThan(500);
    });

    test('every answer about the simulated markets is valid, as JSON and as msgpack', async () => {
      const judgeOf = await judges();
      using place = temporaryArchive();
      await seed(
        captured(() => NOW_MS),
        { data: '', diskFloor: { text: '0', bytes: 0 } },
        place.archive,
      );
      const { app, key } = serviceOf(place.archive);
      let judged = 0;
      const ask = async (request: string): Promise<unknown> => {
        let answered: unknown;
        for (const accept of ['application/json', 'application/msgpack']) {
          const headers = { authorization: `Bearer ${key}`, accept };
          const response = await app.handle(new Request(`http://localhost${request}`, { headers }));
          const bytes = new Uint8Array(await response.arrayBuffer());
          const body: unknown = accept.endsWith('json') ? JSON.parse(new TextDecoder().decode(bytes)) : unpack(bytes);
          const judge = judgeOf(describedPath(request)!, response.status, accept);
          expect(judge(body) || judge.errors, request).toBe(true);
          judged += 1;
          answered = body;
        }
        return answered;
      };
      for (const coin of ['btc', 'eth', 'sol', 'xrp']) {
        const { data } = (await ask(`/v1/${coin}/markets`)) as { data: { conditionId: string }[] };
        await ask(`/v1/${coin}/prices?limit=1000&order=desc`);
        for (const { conditionId } of data) {
          const market = `/v1/${coin}/markets/${conditionId}`;
          for (const suffix of ['', '/coverage', '/quotes', '/prices', '/snapshots?limit=20&order=desc']) {
            await ask(`${market}${suffix}`);
          }
          await ask(`${market}/snapshots/at/2026-01-08`);
        }
      }
      expect(judged).toBeGreaterThan(700);
    });
  },
);
