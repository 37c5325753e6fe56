import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');
const PAGE = readFileSync(join(import.meta.dir, 'ASVS.md'), 'utf8');
/** The requirements of ASVS 5.0.0 of level 1 and 2 in its chapters 6, 7 and 8, by section: those of level 1, and those of level 2. */
const REQUIREMENTS: Readonly<Record<string, readonly [readonly number[], readonly number[]]>> = {
  '6.1': [[1], [2, 3]],
  '6.2': [
    [1, 2, 3, 4, 5, 6, 7, 8],
    [9, 10, 11, 12],
  ],
  '6.3': [
    [1, 2],
    [3, 4],
  ],
  '6.4': [
    [1, 2],
    [3, 4],
  ],
  '6.5': [[], [1, 2, 3, 4, 5]],
  '6.6': [[], [1, 2, 3]],
  '6.8': [[], [1, 2, 3, 4]],
  '7.1': [[], [1, 2, 3]],
  '7.2': [[1, 2, 3, 4], []],
  '7.3': [[], [1, 2]],
  '7.4': [
    [1, 2],
    [3, 4, 5],
  ],
  '7.5': [[], [1, 2]],
  '7.6': [[], [1, 2]],
  '8.1': [[1], [2]],
  '8.2': [[1, 2], [3]],
  '8.3': [[1], []],
  '8.4': [[], [1]],
};

const rows = [...PAGE.matchAll(/^\| ([\d.]+) \| (\d) \| (.+) \| \*\*(.+?)\*\* (.+) \| (.*) \|$/gm)].map(
  ([, number, level, , state, how, shown]) => ({
    number: number!,
    level: Number(level),
    state: state!,
    how: how!,
    shown: shown === '' ? [] : shown!.split('<br>'),
  }),
);

test('The page has every requirement of level 1 and 2 once, in order', () => {
  const expected = Object.entries(REQUIREMENTS).flatMap(([section, levels]) =>
    levels.flatMap((numbers, index) => numbers.map((number) => `${section}.${number} level ${index + 1}`)),
  );
  const byNumber = (text: string) => text.split(/[. ]/).map(Number);
  const ordered = expected.toSorted((a, b) => {
    const [left, right] = [byNumber(a), byNumber(b)];
    return left[0]! - right[0]! || left[1]! - right[1]! || left[2]! - right[2]!;
  });
  expect(rows.map(({ number, level }) => `${number} level ${level}`)).toEqual(ordered);
});

test('Every requirement that is met names what shows it, and all others say why', () => {
  const states = ['Met.', 'In part.', 'Not met.', 'Does not apply.'];
  for (const { number, state, how, shown } of rows) {
    expect({ number, isState: states.includes(state) }).toEqual({ number, isState: true });
    expect({ number, isShown: state !== 'Met.' || shown.length > 0 }).toEqual({ number, isShown: true });
    expect({ number, hasSentence: /^[A-Z0-9`].*\.$/.test(how) }).toEqual({ number, hasSentence: true });
  }
});

test('Every file and every title of a test that the page names exists', () => {
  const missing: string[] = [];
  for (const { number, shown } of rows) {
    for (const reference of shown) {
      const [, file, title] = /^`([^`]+)`(?:: (.+))?$/.exec(reference)!;
      const path = join(ROOT, title === undefined ? file! : `test/${file}`);
      const isThere = existsSync(path) && (title === undefined || titlesOf(readFileSync(path, 'utf8')).includes(title));
      if (!isThere) missing.push(`${number}: ${reference}`);
    }
  }
  expect(missing).toEqual([]);
});

/** The titles of tests in a source, without what follows them in brackets. */
function titlesOf(source: string): string[] {
  return [...source.matchAll(/(['"`])((?:(?!\1)[^\\\n])+)\1,/g)].map(([, , title]) =>
    title!.replace(/ \([^()]*\)$/, ''),
  );
}
