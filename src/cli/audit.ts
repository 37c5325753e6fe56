import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type AuditRecord, auditPage } from '../account/audit-page.ts';
import { entryId, entryLimit } from '../config.ts';
import { formatInstant } from '../domain/instant.ts';
import { accountAt } from './account-table.ts';
import { examples, onRegistry, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

const LIMIT = 100;
type AuditDocument = ReturnType<typeof auditDocument>;
const COLUMNS: readonly Column<AuditDocument>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'TIME', cell: ({ at }) => at },
  { heading: 'ACTION', cell: ({ action }) => action },
  {
    heading: 'ACTOR',
    cell: ({ actor, operatingUser, detail: { job } }) =>
      actor ?? (operatingUser && `${operatingUser} (command)`) ?? (job === undefined ? undefined : `${job} (job)`),
  },
  { heading: 'ACCOUNT', cell: ({ account }) => account },
  { heading: 'COUNT', cell: ({ count }) => (count > 1 ? count : undefined) },
  { heading: 'CLIENT', cell: ({ client }) => client },
  { heading: 'REQUEST', cell: ({ requestId }) => requestId, cut: 'end' },
  { heading: 'DETAIL', cell: ({ detail }) => JSON.stringify(detail), cut: 'end' },
];

export function auditCommand(terminal: Terminal): CommandUnknownOpts {
  const command = programCommand('audit')
    .description('list who changed what, the latest first')
    .option('--account <email>', 'only entries about this account')
    .option('--before <id>', 'only entries before this one: the last id of the previous page', entryId)
    .option('--limit <number>', 'maximum number of entries', entryLimit, LIMIT)
    .addHelpText('after', examples('audit --limit 20', 'audit --account you@example.com --before 4711 --json'));
  return onRegistry(
    terminal,
    command,
    (change, { account, before: beforeId, limit, json: isJson }) => {
      const accountId = account === undefined ? undefined : accountAt(change, account).id;
      const documents = auditPage(change.registry, { limit, accountId, beforeId }).map(auditDocument);
      terminal.out(isJson === true ? json(documents) : auditTable(terminal, documents));
    },
    LOOK,
  );
}

export function auditDocument({ id, atMs, action, detail, count, ...entry }: AuditRecord) {
  return {
    id,
    at: formatInstant(atMs),
    action,
    actor: entry.actor ?? null,
    operatingUser: entry.operatingUser ?? null,
    account: entry.account ?? null,
    detail,
    client: entry.clientAddress ?? null,
    requestId: entry.requestId ?? null,
    count,
  };
}

export function auditTable(terminal: Terminal, documents: readonly AuditDocument[]): string {
  return table(terminal, COLUMNS, documents);
}
