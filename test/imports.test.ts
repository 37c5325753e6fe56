import { expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');
/** Static, dynamic and type imports of another file; those of packages have no dot. */
const IMPORT = /\b(?:from|import)\s*\(?\s*(['"])(\.[^'"]+)\1/g;

/** The place of each room on its line, counted from the left: rooms in braces share one. */
const placesOf = (line: string) =>
  new Map(
    line.split(' → ').flatMap((rooms, place) =>
      rooms
        .replaceAll(/[{}]/g, '')
        .split(', ')
        .map((room) => [room, place]),
    ),
  );
const README = readFileSync(join(ROOT, 'src/README.md'), 'utf8');
const [rooms, roomsOfHttp] = ['src/', 'src/http/'].map((folder) =>
  placesOf(README.split(`| \`${folder}\` | `)[1]!.split(' |')[0]!),
) as [Map<string, number>, Map<string, number>];

const imports = new Map<string, string[]>();
for (const pattern of ['src/**/*.{ts,tsx}', 'test/**/*.ts', 'fixtures/*.ts']) {
  for (const path of new Glob(pattern).scanSync({ cwd: ROOT })) {
    if (path.includes('node_modules/')) continue;
    const found = [...readFileSync(join(ROOT, path), 'utf8').matchAll(IMPORT)].map((m) => join(dirname(path), m[2]!));
    imports.set(path, path.startsWith('src/') ? found : found.filter((target) => existsSync(join(ROOT, target))));
  }
}

/** Says why a file may not import the other one, or nothing. */
function refusal(from: string, to: string): string | undefined {
  if (!to.startsWith('src/')) return undefined;
  if (from.startsWith('src/client/')) return `${from} is for clients to copy, and imports ${to}`;
  if (from.startsWith('src/sdk/') && /^src\/(sdk|client)\//.test(to)) return undefined;
  const [room, ownRoom] = [from, to].map((path) => path.split('/')[1]!.replace('.ts', '')) as [string, string];
  const inHttp = room === 'http' && ownRoom === 'http';
  const [start, end] = inHttp ? [from, to].map((path) => path.split('/')[2]!.replace('.ts', '')) : [room, ownRoom];
  if (start === end) return undefined;
  const places = inHttp ? roomsOfHttp : rooms;
  // Files of http outside its rooms are to the right of all rooms.
  const placeOf = (name: string) => places.get(name) ?? (inHttp ? places.size : Number.NaN);
  return placeOf(start!) < placeOf(end!) ? undefined : `${from} imports ${to}, which is not to the right of ${start}`;
}

test('Imports go rightwards only, types and dynamic imports too, on the lines of src/README.md.', () => {
  const own = [...imports].filter(([path]) => path.startsWith('src/'));
  expect(own.flatMap(([path, targets]) => targets.flatMap((target) => refusal(path, target) ?? []))).toEqual([]);
  expect(own.flatMap(([, targets]) => targets.filter((target) => !existsSync(join(ROOT, target))))).toEqual([]);
});

test.each([
  ['src/domain/market.ts', 'src/store/markets.ts'],
  ['src/import/importer.ts', 'src/verify/verify.ts'],
  ['src/store/markets.ts', 'src/config.ts'],
  ['src/http/v1/coins.ts', 'src/http/docs/docs.ts'],
  ['src/http/route-template.ts', 'src/http/v1/coins.ts'],
  ['src/client/segment-reader.ts', 'src/domain/market.ts'],
  ['src/sdk/typescript/client.ts', 'src/domain/market.ts'],
  ['src/http/docs/sdk.tsx', 'src/sdk/typescript/build.ts'],
  ['src/newroom/a.ts', 'src/domain/market.ts'],
])('%s may not import %s', (from, to) => {
  expect(refusal(from, to)).toStartWith(from);
});

test('No file imports itself, by way of others.', () => {
  const done = new Set<string>();
  const cycles: string[] = [];
  function visit(path: string, way: readonly string[]): void {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (done.has(path)) return;
    done.add(path);
    for (const target of imports.get(path) ?? []) visit(target, [...way, path]);
  }
  for (const path of imports.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

test('No file of the project is larger than 300 kB: what is built is not in it.', () => {
  const files = Bun.spawnSync(['git', 'ls-files', '-z'], { cwd: ROOT }).stdout.toString().split('\0');
  const sizeOf = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.size ?? 0;
  expect(files.filter((path) => sizeOf(path) > 300_000)).toEqual([]);
});
