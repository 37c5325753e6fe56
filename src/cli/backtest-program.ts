import { createHash } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import { createApp } from '../http/app.ts';
import { type AskedReplay, paperRulesOf, replayOptionsOf } from '../http/replay/replay-resource.ts';
import { Sockets } from '../http/replay/socket.ts';
import type { ReplayClock } from '../replay/replay-clock.ts';
import { Replays } from '../replay/replays.ts';
import type { Archive } from '../store/archive.ts';
import { openRegistry } from '../store/registry.ts';
import { filledHistory } from '../trading/event-resource.ts';
import { accountResults } from '../trading/market-result.ts';
import type { PaperDesk } from '../trading/paper-desk.ts';
import { PaperDesks } from '../trading/paper-desks.ts';
import { type Report, reportOf } from '../trading/report.ts';
import { Listener, originOf } from './listening.ts';
import { openLog } from './service-log.ts';
import { stopSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

const HOST = '127.0.0.1';
const SOCKETS_MAX = 1000;
const BODY_BYTES_MAX = 2 * 1024 * 1024;
const IDLE_SECONDS = 30;
const LOOK_MS = 50;
/** The processes that a program has started are gone soon after SIGKILL. */
const LOOKS_MAX = 20;
/** A program that is asked to end has this long. */
const GRACE_MS = 5000;

/** The end of a program: its exit code, undefined if the recording or a signal ended it. */
export interface ProgramEnd {
  readonly report: Report;
  readonly exitCode: number | undefined;
}

/**
 * Runs a program on a replay of its own, whose addresses are in its environment, until it ends or the recording does. What it prints goes
 * to standard error.
 */
export async function runProgram(
  terminal: Terminal,
  archive: Archive,
  data: string,
  words: readonly string[],
  asked: AskedReplay,
): Promise<ProgramEnd> {
  using registry = openRegistry(data, { create: false });
  await using log = openLog(terminal, 'error');
  const clocks = { monotonicMs: () => performance.now(), wallMs: terminal.clock };
  const replays = new Replays(archive, clocks);
  const replay = replays.create(replayOptionsOf(asked));
  const sockets = new Sockets(SOCKETS_MAX, log.error);
  const desks = new PaperDesks(replays, { monotonicMs: clocks.monotonicMs, failed: sockets.failed });
  const desk = desks.open(replay, paperRulesOf(asked)!);
  const app = createApp({
    ...{ archive, registry, version: VERSION, edge: {}, logError: log.error, isDraining: () => false },
    clocks: () => ({ monotonicMs: performance.now(), wallMs: terminal.clock() }),
    replay: { replays, desks, sockets, needsKeys: false },
  });
  const bounds = { idleSeconds: IDLE_SECONDS, bodyBytesMax: BODY_BYTES_MAX };
  const listener = new Listener(app, { host: HOST, port: 0, ...bounds, certificate: undefined, log });
  try {
    const inherited = Object.entries(process.env).filter(([name]) => !OF_THE_VENUE.test(name));
    const env = { ...Object.fromEntries(inherited), ...environmentOf(originOf(HOST, listener.port, false)) };
    const child = spawned(words, env);
    let exited: number | undefined;
    try {
      replay.resume();
      const { first, second } = stopSignals();
      exited = await Promise.race([child.exited, ended(replay.clock), first.then(() => undefined)]);
      if (exited === undefined) await stopped(child, second);
    } finally {
      signalled(child, 'SIGKILL');
      await child.exited;
      for (let looks = 0; looks < LOOKS_MAX && signalled(child, 0); looks += 1) await Bun.sleep(LOOK_MS);
    }
    await desk.catchUp();
    return { report: reportFor(desk, words, replay.clock.nowMs), exitCode: exited };
  } finally {
    sockets.closeAll(1001, 'the backtest is over');
    for (const { id } of replays.list()) replays.stop(id);
    listener.stop();
  }
}

/** Variables of the caller that may have real credentials. */
const OF_THE_VENUE = /^(?:CLOB|POLY)/;

/** The addresses of a replay, and an account, under the names that bots use. */
function environmentOf(origin: string): Readonly<Record<string, string>> {
  const sockets = origin.replace(/^http/, 'ws');
  // Known to everybody: it must hold nothing.
  const key = `0x${createHash('sha256').update('bookreel backtest').digest('hex')}`;
  return {
    CLOB_API_URL: origin,
    CLOB_HOST: origin,
    CLOB_WS_URL: `${sockets}/ws/market`,
    CLOB_USER_WS_URL: `${sockets}/ws/user`,
    GAMMA_API_URL: `${origin}/gamma`,
    DATA_API_URL: `${origin}/data-api`,
    RTDS_URL: `${sockets}/rtds`,
    BINANCE_WS_URL: `${sockets}/stream`,
    CHAIN_ID: '137',
    PRIVATE_KEY: key,
    PK: key,
  };
}

function spawned(words: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    // In a process group of its own: a shell does not pass signals on.
    return Bun.spawn([...words], { env, stdio: ['ignore', 2, 2], detached: true });
  } catch (error) {
    const sentence = `'${words[0]}' cannot be run: name a program, or a strategy's file .ts`;
    throw new DomainError('invalid-parameter', sentence, { cause: error });
  }
}

async function ended(clock: ReplayClock): Promise<undefined> {
  while (clock.state !== 'ended') await Bun.sleep(LOOK_MS);
}

async function stopped(child: Bun.Subprocess, second: Promise<void>): Promise<void> {
  signalled(child, 'SIGTERM');
  let isSecond = false;
  second.then(() => {
    isSecond = true;
  });
  const stopMs = performance.now() + GRACE_MS;
  while (signalled(child, 0) && !isSecond && performance.now() < stopMs) await Bun.sleep(LOOK_MS);
}

/** Sends a signal to a program and all that it has started. False: none of them runs any more. */
function signalled({ pid }: Bun.Subprocess, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

function reportFor(desk: PaperDesk, words: readonly string[], toMs: number): Report {
  const accounts = desk.accounts();
  const results = accountResults(desk, toMs);
  const { fromMs } = desk.replay.clock.span;
  const { rules } = desk;
  const reported = { name: words.join(' '), rules, queues: [rules.queue], isOneAccount: true, fromMs, toMs };
  const unknown = { conditionId: '', slug: '' };
  const namesOf = (key: number) => desk.replay.marketByKey(key) ?? unknown;
  const histories = desk.replay.archive.database.read(() => accounts.map((account) => filledHistory(account, namesOf)));
  return reportOf(reported, results, histories);
}
