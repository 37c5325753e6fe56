import { type AccountService, type AccountSettings, createAccountService } from '../../src/account/account-service.ts';
import { createLink } from '../../src/account/sign-in-link.ts';
import { signInStores } from '../../src/account/sign-in-stores.ts';
import { openActivity } from '../../src/store/activity.ts';
import type { Database } from '../../src/store/database.ts';
import { openRegistry, type Registry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';

export const PUBLIC_URL = 'http://127.0.0.1:8080';
export const CLIENT = '192.0.2.7';
/** A browser without cookies. */
export const NEW_BROWSER = { userAgent: 'Judge/1.0', session: undefined, attemptToken: undefined, device: undefined };

/** The people of a service, with a clock that the test moves. */
export interface People extends AsyncDisposable {
  readonly service: AccountService;
  readonly registry: Registry;
  readonly activity: Database;
  readonly directory: string;
  readonly log: readonly string[];
  nowMs(): number;
  /** The token of a link by command. */
  createLink(email: string): string;
  passTime(ms: number): void;
}

/** `shared`: a registry that the caller closes. */
export function people(settings: Partial<AccountSettings> = {}, shared?: Registry): People {
  using resources = new DisposableStack();
  const directory = resources.use(temporaryDirectory());
  const registry = shared ?? resources.use(openRegistry(directory.path, { create: true }));
  const activity = resources.use(openActivity(directory.path));
  const log: string[] = [];
  let nowMs = NOW_MS;
  const service = createAccountService(
    {
      publicUrl: () => PUBLIC_URL,
      linkCommand: (publicUrl) => `bookreel account link ada@example.com --public-url ${publicUrl}`,
      signUp: { policy: 'open', domains: new Set() },
      mail: undefined,
      providers: [],
      ...settings,
    },
    {
      registry,
      activity,
      clock: () => nowMs,
      // Pauses between tries take no time.
      wait: () => Bun.sleep(0),
      logError: (line) => log.push(line),
    },
  );
  const kept = resources.move();
  return {
    service,
    registry,
    activity: activity.database,
    directory: directory.path,
    log,
    nowMs: () => nowMs,
    createLink(email) {
      const deps = { stores: signInStores(registry, activity.database), clock: () => nowMs, publicUrl: PUBLIC_URL };
      return new URL(
        createLink(deps, registry.accounts.findByEmail(email)!, { operatingUser: 'operator' }),
      ).searchParams.get('token')!;
    },
    passTime(ms) {
      nowMs += ms;
    },
    async [Symbol.asyncDispose]() {
      await service.drained();
      await service.close();
      kept.dispose();
    },
  };
}

/** The sentence of the error that `work` throws. */
export async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('nothing was refused');
}
