import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/cli/version.ts';
import { pythonWheel } from '../../src/sdk/python/build.ts';
import { typescriptPackage } from '../../src/sdk/typescript/build.ts';
import { apiDocument, operationsOf } from '../support/api-document.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { finished, issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { generatedTypes, TYPES } from './generated-types.ts';
import { installClient } from './installed-client.ts';
import { installWheel, PYTHON } from './python.ts';

setDefaultTimeout(120_000);

interface Sample {
  readonly lang: string;
  readonly source: string;
}

const ROOT = join(import.meta.dir, '..', '..');
const OPERATIONS = operationsOf(await apiDocument()).map((operation) => {
  const { 'x-codeSamples': samples = [] } = operation as typeof operation & {
    readonly 'x-codeSamples'?: readonly Sample[];
  };
  return { ...operation, sample: (lang: string) => samples.find((each) => each.lang === lang)?.source ?? '' };
});
const HEAD = "import { Client } from '@bookreel/client';\n\nconst client = new Client();\n";

/** Every sample for TypeScript in one module, which prints what each one logs by its operation. */
const MODULE = `import { Client } from '@bookreel/client';
declare const process: { readonly stdout: { write(text: string): void } };
const client = new Client();
const logged: Record<string, unknown[]> = {};
${OPERATIONS.map(
  ({ operationId, sample }) => `
try {
  const console = { log: (value: unknown) => (logged['${operationId}'] ??= []).push(value) };
  ${sample('TypeScript').replace(HEAD, '')}
} catch (error) {
  logged['${operationId}'] = [String(error)];
}`,
).join('\n')}
process.stdout.write(JSON.stringify(logged));
export {};
`;

/** The same for Python. */
const PYTHON_SAMPLES = `import json
from bookreel import BookreelError, Client
logged = {}
for name, source in json.load(open("samples.json")).items():
    lines = logged[name] = []
    def log(value):
        lines.append({"data": value.snapshot or value.gap} if hasattr(value, "gap") else getattr(value, "snapshot", value))
    try:
        exec(source, {"print": lambda value: log([each.snapshot for each in value] if name == "nearestOfEach" else value)})
    except BookreelError as error:
        lines.append(f"{type(error).__name__}: {error.status}: {error}")
print(json.dumps(logged, default=str))
`;

const directory = temporaryDirectory();
const user = directory.path;
let server: RunningServer;
let env: Record<string, string>;
beforeAll(async () => {
  const data = join(user, 'data');
  server = await startServer(data, ['--demo']);
  const { key } = await issueKey(data);
  env = { PATH: process.env.PATH!, BOOKREEL_URL: server.origin, BOOKREEL_KEY: key };
  await installClient(user);
  writeFileSync(join(user, 'samples.ts'), MODULE);
  writeFileSync(join(user, 'samples.mjs'), new Bun.Transpiler({ loader: 'ts' }).transformSync(MODULE));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

test('The types of the client are those of the API documents: make types generates them again.', async () => {
  expect(await Bun.file(TYPES).text()).toBe(await generatedTypes());
});

test('The tarball has the same bytes each time, those that the executable serves, and a client of at most 15 kB in gzip.', async () => {
  const { name, bytes } = typescriptPackage(VERSION);
  expect(Buffer.from(typescriptPackage(VERSION).bytes).equals(bytes)).toBe(true);
  const { data } = (await (await fetch(`${server.origin}/sdk`)).json()) as { data: Record<string, string>[] };
  const listed = data.find((each) => each.name === name)!;
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
  expect<object>(listed).toMatchObject({ path: `/sdk/${name}`, bytes: bytes.length, sha256 });
  expect(listed.install).toBe(`npm install ${server.origin}/sdk/${name}`);
  const served = await fetch(`${server.origin}${listed.path}`);
  expect(served.headers.get('content-type')).toBe('application/gzip');
  expect(Buffer.from(await served.bytes()).equals(bytes)).toBe(true);
  const etag = served.headers.get('etag')!;
  expect((await fetch(`${server.origin}${listed.path}`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await fetch(`${server.origin}/sdk/bookreel-client-0.0.0.tgz`)).status).toBe(404);
  const page = await (await fetch(`${server.origin}/sdk`, { headers: { accept: 'text/html' } })).text();
  expect(page).toContain(`href="/sdk/${name}#sha256=${sha256}"`);
  const files = await Array.fromAsync(new Bun.Glob('node_modules/@bookreel/client/*.js').scan({ cwd: user }));
  const code = Buffer.concat(files.map((file) => readFileSync(join(user, file))));
  const wheel = data.find((each) => each.name!.endsWith('.whl'))!;
  expect(wheel.install).toBe(`pip install ${server.origin}/sdk/bookreel-${VERSION}-py3-none-any.whl`);
  const loaded = await fetch(`${server.origin}${wheel.path}`);
  expect(loaded.headers.get('content-type')).toBe('application/zip');
  expect(Buffer.from(await loaded.bytes()).equals(pythonWheel(VERSION).bytes)).toBe(true);
  expect(files.length).toBeGreaterThan(4);
  expect(Bun.gzipSync(code).length).toBeLessThan(15_000);
});

test('With the installed package every sample for TypeScript is right in tsc --strict, without types of a runtime.', async () => {
  const options = [
    '--strict',
    '--noEmit',
    '--noUncheckedIndexedAccess',
    '--exactOptionalPropertyTypes',
    '--target',
    'es2022',
  ];
  const modules = ['--module', 'nodenext', '--lib', 'es2022,dom', '--types', ''];
  const command = [join(ROOT, 'node_modules', '.bin', 'tsc'), ...options, ...modules, 'samples.ts'];
  expect(await finished(command, { cwd: user, env })).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('The commands and the programs of the manual’s page on clients work.', async () => {
  const page = readFileSync(join(ROOT, 'src', 'manual', 'sdk.md'), 'utf8').replaceAll(
    'http://127.0.0.1:8080',
    server.origin,
  );
  const [commands] = blocksOf(page).filter(({ language }) => language === 'sh');
  const npm = { ...env, HOME: user, npm_config_audit: 'false', npm_config_update_notifier: 'false' };
  // pip installs httpx, which the package needs, from another host.
  const [install = ''] = commands!.text.split('pip install');
  expect(await finished(['sh', '-ec', install], { cwd: user, env: npm })).toMatchObject({ code: 0 });
  const programs = blocksOf(page).filter(({ language }) => language === 'ts');
  const printed: string[] = [];
  for (const { text } of programs) {
    await Bun.write(join(user, 'program.ts'), text);
    const { code, stdout, stderr } = await finished([process.execPath, 'program.ts'], { cwd: user, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    printed.push(stdout);
  }
  expect(printed).toHaveLength(2);
  expect(printed[0]).toMatch(/^(?:simulated-btc-updown-5m-\d+ \d+ 0\.\d+\n)+$/);
  expect(printed[1]).toBe('true true 404 not-found\n');
});

describe.each([
  ['Node', 'node'],
  ['Bun', process.execPath],
])('%s', (_, runtime) => {
  const testHere = Bun.which(runtime) === null ? test.skip : test;

  testHere('runs the sample of every operation of the document, and gets what curl gets', async () => {
    const { code, stdout, stderr } = await finished([runtime, 'samples.mjs'], { cwd: user, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const logged = JSON.parse(stdout) as Record<string, unknown[]>;
    for (const { operationId, path, sample } of OPERATIONS) {
      const answer = await finished(['sh', '-c', sample('Shell')], { env });
      expect({ operationId, code: answer.code, isText: answer.stdout.length > 0 }).toEqual({
        operationId,
        code: 0,
        isText: true,
      });
      const lines = logged[operationId]!;
      expect({ operationId, lines: lines.length > 0 }).toEqual({ operationId, lines: true });
      compare(operationId, path, lines, answer.stdout);
    }
  });
});

test.skipIf(PYTHON === undefined)('Python runs the same samples with the wheel. (needs httpx)', async () => {
  const samples = OPERATIONS.map(({ operationId, sample }) => [operationId, sample('Python')] as const);
  writeFileSync(join(user, 'samples.json'), JSON.stringify(Object.fromEntries(samples)));
  writeFileSync(join(user, 'samples.py'), PYTHON_SAMPLES);
  const ran = { cwd: user, env: { ...env, PYTHONPATH: await installWheel(user) } };
  const { code, stdout, stderr } = await finished([PYTHON!, 'samples.py'], ran);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const logged = JSON.parse(stdout) as Record<string, unknown[]>;
  for (const { operationId, path, sample } of OPERATIONS) {
    const text = (await finished(['sh', '-c', sample('Shell')], { env })).stdout;
    const lines = logged[operationId]!;
    if (operationId === 'nearest' || operationId === 'nearestOfEach') {
      // Python has the book of one outcome.
      const { data } = JSON.parse(text) as { data: { data: unknown[] }[] };
      const books = operationId === 'nearest' ? data[0] : data.map((each) => each.data[0]);
      expect(lines).toEqual([books]);
    } else if (operationId === 'export') {
      expect(readFileSync(join(user, 'market.ndjson'), 'utf8')).toBe(text);
    } else if (operationId === 'history') expect(lines ?? []).toEqual([]);
    else {
      const isUnwrapped = /^\{"data":/.test(text) && Object.keys(JSON.parse(text)).length === 1;
      const isWrapped = isUnwrapped && !['market', 'coverage'].includes(operationId);
      compare(operationId, path, isWrapped ? lines.map((data) => ({ data })) : lines, text);
    }
  }
});

/** `lines`: what the sample for TypeScript logged; `text`: the answer to curl. */
function compare(operationId: string, path: string, lines: unknown[], text: string): void {
  const document =
    /^[{[]/.test(text) && !path.endsWith('/export')
      ? (JSON.parse(text) as { data: unknown[]; detail: string })
      : undefined;
  if (operationId === 'export') {
    expect(lines).toEqual([text.length]);
    expect(readFileSync(join(user, 'market.ndjson'), 'utf8')).toBe(text);
  } else if (operationId === 'stream') {
    const data = [...text.matchAll(/^event: (?:snapshot|gap)\ndata: (.*)$/gm)].map(
      ([, json]) => JSON.parse(json!) as unknown,
    );
    expect(lines.map((event) => (event as { data: unknown }).data)).toEqual(data);
  } else if (path.startsWith('/v1/billing/x402/')) {
    // Payments are off.
    expect(lines).toEqual([expect.stringMatching(/^NotFoundError: 404: /)]);
    expect(String(lines[0])).toContain(document!.detail);
  } else if (['usage', 'account'].includes(operationId)) {
    // Every request counts.
    expect(Object.keys(lines[0] as object)).toEqual(['data']);
  } else if (['markets', 'snapshots', 'quotes', 'marketPrices', 'coinPrices'].includes(operationId)) {
    // The request of curl has one page; that of the markets skips one.
    const [first] = operationId === 'markets' ? [1] : [0];
    expect(document!.data.length).toBeGreaterThan(0);
    expect(lines.slice(first, first + document!.data.length)).toEqual(document!.data);
  } else {
    const isNamed = ['market', 'nearest', 'nearestOfEach', 'coverage'].includes(operationId);
    const expected = document === undefined ? stable(text) : isNamed ? document.data : document;
    expect<unknown>(lines.map(stable)).toEqual([expected]);
  }
}

/** A page's nonce is new each time. */
function stable(answer: unknown): unknown {
  return typeof answer === 'string' ? answer.replace(/"csp-nonce" content="[^"]+"/, '') : answer;
}
