import { describe, expect, test } from 'bun:test';
import { Log, type LogFormat, type LogLevel } from '../../src/http/plugins/log.ts';
import { NOW_MS } from '../support/archive.ts';

const TIME = new Date(NOW_MS).toISOString();

function logOf(level: LogLevel, format: LogFormat) {
  let text = '';
  const sink = async (lines: string) => {
    text += lines;
  };
  const log = new Log({ sink, format, level, nowMs: () => NOW_MS });
  return { log, text: async () => log.flush().then(() => text) };
}

describe('the log', () => {
  test.each<[LogLevel, LogLevel[]]>([
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['info', ['error', 'warn', 'info']],
  ])('of level %s has the messages of %j, and counts all', async (level, written) => {
    const { log, text } = logOf(level, 'json');
    for (const each of ['info', 'error', 'warn', 'info'] as const) log[each](`of ${each}`);
    const lines = (await text()).trimEnd().split('\n');
    expect(new Set(lines.map((line) => (JSON.parse(line) as { level: LogLevel }).level))).toEqual(new Set(written));
    expect(log.counts).toEqual({ error: 1, warn: 1, info: 2 });
  });

  test('The log has one line per message, JSON unless standard error is a terminal; the announcement on standard output stays as it is.', async () => {
    const { log, text } = logOf('info', 'json');
    log.error('first\n    at second\r\nthird "quoted" \u001b[31m');
    log.info('next');
    const lines = (await text()).split('\n');
    expect(lines.map((line) => line && JSON.parse(line))).toEqual([
      { time: TIME, level: 'error', message: 'first\n    at second\r\nthird "quoted" \u001b[31m' },
      { time: TIME, level: 'info', message: 'next' },
      '',
    ]);
  });

  test('on a terminal has one line of text per message, without control characters', async () => {
    const { log, text } = logOf('info', 'text');
    log.warn('first\n    at second \u001b[31m');
    expect(await text()).toBe('00:00:00.000Z warn first | at second \\u{1b}[31m\n');
  });

  test('that nobody reads keeps no more than its limit, counts the rest, and says so later', async () => {
    const gate = Promise.withResolvers<void>();
    const written: string[] = [];
    const sink = async (lines: string) => {
      await gate.promise;
      written.push(lines);
    };
    const log = new Log({ sink, format: 'json', level: 'info', nowMs: () => NOW_MS });
    const message = 'm'.repeat(1000);
    for (let count = 0; count < 3000; count += 1) log.info(message);
    expect(log.dropped).toBeGreaterThan(0);
    gate.resolve();
    await log.flush();
    const lines = written.join('').trimEnd().split('\n');
    expect(lines.length - 1 + log.dropped).toBe(3000);
    expect(JSON.parse(lines.at(-1)!)).toEqual({
      time: TIME,
      level: 'warn',
      dropped: log.dropped,
      message: `${log.dropped} lines were dropped: nobody read the log`,
    });
  });
});
