import type { Target } from './target.ts';

/** Runs one command of the executable while a service runs, with words that need no quotes; returns its output. */
export type RunCommand = (args: readonly string[], stdin?: string) => Promise<string>;

/** Actions of an operator while the service runs, by the command line alone. */
export function operatorOf(run: RunCommand): Omit<Target, 'origin' | typeof Symbol.asyncDispose> {
  return {
    async makeKey(tier, { rpm } = {}) {
      const limit = rpm === undefined ? [] : ['--rpm', String(rpm)];
      // All keys of the suite have one account: one of them reads the usage of another.
      const owned = ['--account', 'contract@localhost', '--keys-per-account', '1000000'];
      return JSON.parse(await run(['key', 'create', '--tier', tier, ...owned, ...limit])) as {
        id: string;
        key: string;
      };
    },
    async rotateKey(id) {
      return (JSON.parse(await run(['key', 'rotate', id])) as { key: string }).key;
    },
    async revokeKey(id) {
      await run(['key', 'revoke', id]);
    },
    async setTier(id, { rpm, coins, routes }) {
      await run([
        'tier',
        'set',
        id,
        ...(rpm === undefined ? [] : ['--rpm', String(rpm)]),
        ...(coins === undefined ? [] : ['--coins', coins?.join() ?? 'all']),
        ...(routes === undefined ? [] : ['--routes', routes?.join() ?? 'all']),
      ]);
    },
    async importRecords(records) {
      if (records.length === 0) return;
      const ndjson = records.map((record) => `${JSON.stringify(record)}\n`).join('');
      const report = JSON.parse(await run(['import', '-'], ndjson)) as { total: { stored: number } };
      if (report.total.stored !== records.length) throw new Error(`not all was stored: ${JSON.stringify(report)}`);
    },
  };
}
