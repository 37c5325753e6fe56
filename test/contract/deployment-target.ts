import { operatorOf, type RunCommand } from './operator.ts';
import { BOOKS, MARKETS, type TierId } from './recording.ts';
import { AMPLE_RPM, type Reach, type Target } from './target.ts';

/**
 * A service that runs already, and how keys for it are come by: an admin command, or a key of each tier.
 */
export interface Deployment {
  /** Scheme, host and port, without a slash at the end. */
  readonly origin: string;
  /** Words of a shell that run bookreel on the service's data directory, wherever that is. */
  readonly admin: string | undefined;
  readonly keys: Readonly<Record<TierId, string>> | undefined;
}

const TIERS = ['free', 'starter', 'pro', 'enterprise'] as const;
/** Of the 600 requests a minute that an address has without a valid key, the suite makes fewer than these. */
const KEYLESS_REQUESTS = 550;
/** Texts that a shell, local or through ssh, reads as one word. */
const WORD = /^[\w.,@-]+$/;

/** The deployment that the environment names; undefined when it names none. */
export function deploymentOf(env: Readonly<Record<string, string | undefined>>): Deployment | undefined {
  const { CONTRACT_URL: url = '', CONTRACT_ADMIN: admin = '' } = env;
  if (url === '') return undefined;
  const given = TIERS.flatMap((tier) => {
    const key = env[`KEY_${tier.toUpperCase()}`] ?? '';
    return key === '' ? [] : [[tier, key] as const];
  });
  if (admin === '' && given.length < TIERS.length) {
    throw new Error(
      "no way to make keys: give ADMIN='bookreel --data DIR' (with ssh in front if need be), or KEY_FREE, KEY_STARTER, KEY_PRO and KEY_ENTERPRISE",
    );
  }
  const keys = admin === '' ? (Object.fromEntries(given) as Record<TierId, string>) : undefined;
  return { origin: new URL(url).origin, admin: admin === '' ? undefined : admin, keys };
}

/** With TLS there is a proxy, which answers malformed requests itself. */
export function reachOf({ origin, admin }: Deployment): Reach {
  return { operated: admin !== undefined, plain: origin.startsWith('http:'), anew: false };
}

/**
 * With an admin command: imports the records into the service's archive, which must not have any yet, for the suite asks
 * for all there is. With keys alone: the records must be there already. Waits until this address may ask without a key.
 */
export async function openDeployment(deployment: Deployment, records: readonly object[]): Promise<Target> {
  const { origin, admin, keys } = deployment;
  const target: Target = {
    origin,
    ...(admin === undefined ? guestOf(keys!) : operatorOf(commandOf(admin))),
    // The service was there before the suite and stays.
    [Symbol.asyncDispose]: async () => undefined,
  };
  const { key } = await target.makeKey('enterprise', { rpm: AMPLE_RPM });
  const ask = (path: string) => fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  if (admin === undefined) {
    const { status } = await ask(`/v1/btc/markets/${BOOKS.conditionId}`);
    if (status !== 200) {
      throw new Error(
        `${origin} does not have the suite's recording (${status}): bun test/contract/print-recording.ts | bookreel import -`,
      );
    }
  } else {
    for (const coin of new Set(MARKETS.map(({ symbol }) => symbol))) {
      const { status } = await ask(`/v1/${coin}/markets`);
      if (status !== 404) {
        throw new Error(`${origin} has recordings of ${coin} (${status}): the suite wants an archive without any`);
      }
    }
    await target.importRecords(records);
  }
  await untilKeylessRequestsAreLeft(origin);
  return target;
}

/** Without an admin command: one key per tier, with the rate limit that the operator set. */
function guestOf(keys: Readonly<Record<TierId, string>>): ReturnType<typeof operatorOf> {
  const refuse = async (): Promise<never> => {
    throw new Error('this takes an admin command');
  };
  return {
    makeKey: async (tier) => ({ id: '', key: keys[tier] }),
    rotateKey: refuse,
    revokeKey: refuse,
    setTier: refuse,
    importRecords: refuse,
  };
}

function commandOf(admin: string): RunCommand {
  return async (args, stdin = '') => {
    const strange = args.find((arg) => !WORD.test(arg));
    if (strange !== undefined) throw new Error(`'${strange}' is no plain word`);
    const command = `${admin} ${args.join(' ')} --json`;
    const child = Bun.spawn(['sh', '-c', command], { stdin: Buffer.from(stdin), stdout: 'pipe', stderr: 'pipe' });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const code = await child.exited;
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`);
    return stdout;
  };
}

async function untilKeylessRequestsAreLeft(origin: string): Promise<void> {
  for (;;) {
    const { headers } = await fetch(`${origin}/healthz`);
    if (Number(headers.get('x-ratelimit-remaining')) >= KEYLESS_REQUESTS) return;
    const waitMs = Number(headers.get('x-ratelimit-reset')) * 1000 - Date.now();
    await Bun.sleep(Math.max(waitMs, 0) + 1000);
  }
}
