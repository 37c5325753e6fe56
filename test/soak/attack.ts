import { join } from 'node:path';
import { startChild } from '../support/child.ts';
import type { SeenMarket } from './mix.ts';

const ATTACKERS = join(import.meta.dir, 'attackers.ts');

/** What the attackers do, all at once. */
export interface Attack {
  readonly origin: string;
  /** The market that they ask for. */
  readonly market: Pick<SeenMarket, 'path' | 'firstMs' | 'lastMs'>;
  readonly keys: {
    /** Each of these keys requests exports and resets them. */
    readonly reset: readonly string[];
    readonly unread: string;
    readonly coverage: string;
    readonly slow: string;
  };
  readonly unreadExports: number;
  readonly coverageQuestions: number;
  readonly idleConnections: number;
  readonly slowConnections: number;
}

/** Counts of attacks. */
export interface AttackCounts {
  exportsReset: number;
  exportsUnread: number;
  exportsRefused: number;
  coverageAnswers: number;
  coverageRefused: number;
  idleOpened: number;
  /** By the server. */
  idleClosed: number;
  slowOpened: number;
  /** By the server. */
  slowClosed: number;
  /** Answers that are neither right nor a refusal. */
  readonly wrong: string[];
}

export function noAttacks(): AttackCounts {
  return {
    exportsReset: 0,
    exportsUnread: 0,
    exportsRefused: 0,
    coverageAnswers: 0,
    coverageRefused: 0,
    idleOpened: 0,
    idleClosed: 0,
    slowOpened: 0,
    slowClosed: 0,
    wrong: [],
  };
}

/** Real attackers have machines of their own: these get a processor when the service and the other clients need none. */
const NICE = ['nice', '-n', '10'];

/**
 * Does `work` during the attack, and adds the attack's counts to `counts`. The attackers are a process of their own: their work is
 * not a part of the latencies that this process measures. `work` begins when all their connections are open.
 */
export async function underAttack<T>(attack: Attack, counts: AttackCounts, work: () => Promise<T>): Promise<T> {
  await using attackers = startChild([...NICE, process.execPath, ATTACKERS, JSON.stringify(attack)]);
  await attackers.said(/^attacking$/m);
  const result = await work();
  attackers.kill('SIGTERM');
  if ((await attackers.exited) !== 0) throw new Error(`the attackers failed: ${attackers.stderr()}`);
  const { wrong, ...numbers } = JSON.parse(attackers.stdout().split('\n')[1]!) as AttackCounts;
  counts.wrong.push(...wrong);
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) counts[name] += numbers[name];
  return result;
}
