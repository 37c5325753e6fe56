import { auditPage } from '../account/audit-page.ts';
import { countText } from '../domain/count-text.ts';
import { Identities } from '../store/identities.ts';
import { grantDocument, printGrants } from './account-grants.ts';
import { identityDocument, printIdentities } from './account-identities.ts';
import { accountPasskeys } from './account-passkeys.ts';
import { sessionsOf } from './account-sign-in.ts';
import { type Named, printAccount } from './account-table.ts';
import { auditDocument, auditTable } from './audit.ts';
import { keyDocument, lastUsesIn, printKeys } from './key.ts';
import type { GlobalOptions } from './program-command.ts';
import type { Terminal } from './terminal.ts';

const ENTRIES_MAX = 20;

/** Prints an account with its grants, keys and ways to sign in, the number of sessions, and the latest entries of the audit about it. */
export function showAccount(terminal: Terminal, named: Named, options: GlobalOptions): void {
  const { registry, account, nowMs } = named;
  const grants = registry.grants.ofAccount(account.id);
  const keys = registry.apiKeys.ofAccount(account.id);
  const identities = new Identities(registry.database).ofAccount(account.id);
  const { passkeys, recoveryCodesLeft } = accountPasskeys(named);
  const sessions = sessionsOf(terminal, options, named).length;
  const lastUses = lastUsesIn(options, keys);
  const audit = auditPage(registry, { limit: ENTRIES_MAX, accountId: account.id }).map(auditDocument);
  if (options.json === true) {
    printAccount(terminal, options, named, {
      grants: grants.map(grantDocument),
      keys: keys.map((key) => keyDocument(registry, nowMs, key, lastUses)),
      identities: identities.map(identityDocument),
      passkeys: passkeys.length,
      recoveryCodesLeft,
      sessions,
      audit,
    });
    return;
  }
  printAccount(terminal, options, named);
  printGrants(terminal, grants);
  if (keys.length > 0) terminal.out('\n');
  if (keys.length > 0) printKeys(terminal, options, registry, keys, lastUses);
  printIdentities(terminal, identities);
  const [keyCount, sessionCount] = [countText(passkeys.length, 'passkey'), countText(sessions, 'session')];
  terminal.out(`\n${keyCount}, ${countText(recoveryCodesLeft, 'recovery code')} left, ${sessionCount}\n`);
  if (audit.length > 0) terminal.out(`\n${auditTable(terminal, audit)}`);
}
