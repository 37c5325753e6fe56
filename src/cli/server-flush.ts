import { DeletedAccounts } from '../account/account-deletion.ts';
import type { InstantMs } from '../domain/instant.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import type { Registry } from '../store/registry.ts';
import { deleteOldAttempts } from '../store/sign-in-attempts.ts';
import { auditSentence } from '../web/audit-sentence.ts';
import type { AccountSite, Served } from './account-site.ts';

/** The deletions that are logged at once. */
const DELETIONS_MAX = 100;

interface ServerFlushDeps {
  readonly served: Pick<Served, 'registry' | 'activity'>;
  readonly site: AccountSite | undefined;
  readonly log: Log;
  readonly clock: () => InstantMs;
  /** True in the process of a server that writes what all of its processes share. */
  readonly isLeading: () => boolean;
}

/** Stores what a server keeps in memory, and does what waits in its databases. */
export class ServerFlush {
  readonly #deps: ServerFlushDeps;
  readonly #deleted: DeletedAccounts;
  readonly #deletions: LoggedDeletions;

  constructor(deps: ServerFlushDeps) {
    this.#deps = deps;
    const { registry, activity } = deps.served;
    this.#deleted = new DeletedAccounts(registry, activity);
    this.#deletions = new LoggedDeletions(registry, deps.log);
  }

  usage(): void {
    this.#deps.served.activity.usage.flush(this.#deps.clock());
  }

  /** Stores usage, forgets deleted accounts, logs deletions, removes old sign-ins and sends emails that are due. An error is logged: the next call does the rest. */
  all(): void {
    const { log } = this.#deps;
    try {
      this.usage();
      this.#deleted.forget(this.#deps.clock());
      const isLeading = this.#deps.isLeading();
      this.#deletions.log(isLeading);
      if (isLeading) this.#endOld();
    } catch (error) {
      log.error(`usage and emails wait, because a database was not written: ${causeOf(error)}`);
    }
  }

  #endOld(): void {
    const { served, site, log, clock } = this.#deps;
    deleteOldAttempts(served.activity.database, clock());
    site?.service.mailBuyers();
    site?.service
      .retryMails()
      .catch((error) => log.error(`emails wait, because they cannot be read: ${causeOf(error)}`));
  }
}

/** Writes deletions by commands to the log of the server, which others keep and read. */
class LoggedDeletions {
  readonly #registry: Registry;
  readonly #log: Log;
  #lastId: number;

  constructor(registry: Registry, log: Log) {
    this.#registry = registry;
    this.#log = log;
    this.#lastId = this.#entries(1)[0]?.id ?? 0;
  }

  /** Those since the last call. `isWritten`: false if another process writes them. */
  log(isWritten: boolean): void {
    for (const entry of this.#entries(DELETIONS_MAX).reverse()) {
      if (entry.id <= this.#lastId) continue;
      this.#lastId = entry.id;
      if (isWritten) this.#log.warn(`${entry.operatingUser}: ${auditSentence(entry)}`);
    }
  }

  #entries(limit: number) {
    const { audit, database } = this.#registry;
    return database.read(() => audit.list(limit, { action: 'recordings.delete' }));
  }
}
