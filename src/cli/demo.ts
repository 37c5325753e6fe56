import { createKey, rotateKey } from '../account/account-keys.ts';
import type { AccountSettings } from '../account/account-service.ts';
import { createAccount, setRole } from '../account/administration.ts';
import { type Account, DEMO_EMAIL } from '../domain/account.ts';
import type { IssuedKey } from '../store/api-keys.ts';
import type { Registry } from '../store/registry.ts';

const KEY_NAME = 'demo';
const KEY_TIER = 'pro';

/** Turns accounts on at the address that the demo listens on. `origin` has its port as soon as it listens. */
export function demoSettings(
  { data }: { readonly data: string },
  origin: () => string,
): Pick<AccountSettings, 'publicUrl' | 'linkCommand'> {
  const quoted = `'${data.replaceAll("'", `'\\''`)}'`;
  return {
    publicUrl: origin,
    linkCommand: (publicUrl) => `bookreel account link ${DEMO_EMAIL} --public-url ${publicUrl} --data ${quoted}`,
  };
}

/** The demo's account, which is an admin. It is created if it is missing. */
export function demoAdmin(registry: Registry, nowMs: number): Account {
  const { accounts, database } = registry;
  const change = { registry, nowMs };
  const { id } = database.write(
    () => accounts.findByEmail(DEMO_EMAIL) ?? createAccount(change, { email: DEMO_EMAIL, role: 'admin' }),
  );
  setRole(change, id, 'admin');
  return database.read(() => accounts.find(id)!);
}

/** A new key of the demo's account: that of an earlier start is no longer valid. */
export function demoKey(registry: Registry, nowMs: number): IssuedKey {
  const earlier = registry.apiKeys
    .list()
    .find((key) => key.account === DEMO_EMAIL && key.name === KEY_NAME && key.revokedMs === undefined);
  if (earlier !== undefined) return rotateKey({ registry, nowMs }, earlier.id);
  return createKey(registry, nowMs, {
    account: DEMO_EMAIL,
    name: KEY_NAME,
    tier: KEY_TIER,
    requestsPerMinute: undefined,
  });
}
