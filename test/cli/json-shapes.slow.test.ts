import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram, run } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { writeLightRecording } from '../support/light-recording.ts';

const directory = temporaryDirectory();
const at = (name: string) => join(directory.path, name);
const ADA = 'ada@example.com';
const ENDED = '00000000-0000-4000-8000-000000000000';

/** A command, whether it prints a list, and the kind of thing that it prints. */
interface Shape {
  readonly words: readonly string[];
  readonly prints: 'list' | 'object';
  /** Lists and commands of one kind have the same fields; `more`: those that this command adds. */
  readonly kind?: string;
  readonly more?: readonly string[];
}

const list = (words: string, kind?: string, more?: readonly string[]): Shape => shape('list', words, kind, more);
const one = (words: string, kind?: string, more?: readonly string[]): Shape => shape('object', words, kind, more);
function shape(prints: 'list' | 'object', words: string, kind?: string, more?: readonly string[]): Shape {
  return { words: words.split(' '), prints, ...(kind && { kind }), ...(more && { more }) };
}

const ACCOUNT_PARTS = ['grants', 'keys', 'identities', 'passkeys', 'recoveryCodesLeft', 'sessions', 'audit'];
/** In an order in which each succeeds; KEY is the id of the first key. */
const SHAPES: readonly Shape[] = [
  one(`import ${at('light.ndjson')}`),
  one(`account create ${ADA} --admin`, 'account'),
  list('account list', 'account'),
  one(`account show ${ADA}`, 'account', ACCOUNT_PARTS),
  one(`account role ${ADA} user`, 'account'),
  one(`account disable ${ADA}`, 'account'),
  one(`account enable ${ADA}`, 'account'),
  one(`account email ${ADA} bob@example.com`, 'account'),
  one('account grant bob@example.com --tier pro', 'account', ['grants']),
  list('account sessions bob@example.com'),
  list('account passkeys bob@example.com'),
  one('account link bob@example.com --public-url http://127.0.0.1:8080'),
  one('key create --tier pro --name first', 'key', ['key']),
  list('key list', 'key', ['lastUsedAt']),
  one('key set KEY --name other', 'key'),
  one('key rotate KEY', 'key', ['key']),
  one('key revoke KEY', 'key'),
  one('key revoked'),
  list('tier list', 'tier'),
  one('tier add gold --name Gold --rpm 5 --price 5 --place 1', 'tier'),
  one('tier set gold --rpm 6', 'tier'),
  one('tier show gold', 'tier', ['retiredAt', 'isOfNewAccounts', 'accounts', 'keys']),
  one('tier retire gold', 'tier', ['retiredAt', 'isOfNewAccounts', 'accounts', 'keys']),
  one('usage'),
  list('audit'),
  list('billing list'),
  one('status'),
  one('record status'),
  list('markets'),
  one(`inspect ${at('light.ndjson')}`),
  list(`inspect ${at('files')}`),
  one(`export -o ${at('export.ndjson')}`),
  one('show MARKET'),
  one(`plot MARKET -o ${at('plot.svg')}`),
  one('seal'),
  one('verify'),
  one(`backup ${at('backup')}`, 'backup'),
  one(`backup ${at('kept')} --keep 2`, 'backup'),
  one(`restore ${at('backup')} --force`),
  list('config show'),
  one('config check'),
  one('doctor'),
  list('manual'),
  list('manual --search backup'),
  one('manual operations'),
  list('licenses'),
  one('openapi'),
  one('version'),
  one('account delete bob@example.com'),
  one('delete --coin btc --all'),
];
/** They need a server, a chain or a replay, or print a file that is not JSON. */
const OTHERS = [
  ...['serve', 'seed', 'mcp', 'health', 'completion', 'metrics', 'account unlink'],
  ...['billing show', 'billing refund', 'billing check', 'billing assign', 'billing reconcile'],
  ...['start', 'list', 'show', 'create', 'pause', 'resume', 'step', 'seek', 'speed', 'stop'].map(
    (verb) => `replay ${verb}`,
  ),
  ...['record start', 'record store', 'backtest', 'paper accounts', 'paper explain'],
  ...['publish now', 'publish verify', 'publish prune'],
];

beforeAll(() => {
  mkdirSync(at('files'));
  writeLightRecording(at('light.ndjson'), 5);
  writeLightRecording(at('files/light.ndjson'), 5);
  writeFileSync(at('files/other.txt'), ENDED);
});
afterAll(() => directory[Symbol.dispose]());

describe('--json has one shape for one kind of thing: a list is a list, one thing an object', () => {
  test('in each command', async () => {
    const fields = new Map<string, readonly string[]>();
    let [keyId, market] = ['', ''];
    for (const { words, prints, kind, more = [] } of SHAPES) {
      const terminal = captured();
      const given = words.map((word) => (word === 'KEY' ? keyId : word === 'MARKET' ? market : word));
      const code = await run([...given, '--json', '--data', at('data')], terminal);
      const what = words.join(' ');
      // A finding is no failure of doctor.
      expect({ what, code: code === 3 ? 0 : code, stderr: code === 1 ? terminal.stderr() : '' }).toEqual({
        what,
        code: 0,
        stderr: '',
      });
      const found: unknown = JSON.parse(terminal.stdout());
      expect({ what, prints: Array.isArray(found) ? 'list' : typeof found }).toEqual({ what, prints });
      const [first] = [found].flat() as Readonly<Record<string, unknown>>[];
      if (what.startsWith('key create')) keyId = String(first!.id);
      if (what === 'markets') market = String(first!.conditionId);
      if (kind === undefined) continue;
      const names = Object.keys(first!)
        .filter((name) => !more.includes(name))
        .sort();
      const known = fields.getOrInsert(kind, names);
      expect({ what, names }).toEqual({ what, names: [...known] });
    }
  });

  test('and each command is tried, or named as one that is not', async () => {
    const leaves = (command: CommandUnknownOpts): string[] =>
      command.commands.length === 0 ? [wordsOf(command)] : command.commands.flatMap(leaves);
    const wordsOf = (command: CommandUnknownOpts): string =>
      command.parent?.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();
    const tried = SHAPES.map(({ words }) => words.join(' '));
    const isTried = (leaf: string) => tried.some((words) => words === leaf || words.startsWith(`${leaf} `));
    const all = leaves(await createProgram(captured()));
    expect(all.filter((leaf) => !isTried(leaf)).toSorted()).toEqual(OTHERS.toSorted());
  });
});
