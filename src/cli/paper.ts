import { existsSync, readFileSync } from 'node:fs';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { DomainError } from '../domain/errors.ts';
import { PAGE_LIMIT_MAX } from '../domain/page.ts';
import type { AccountSummary } from '../http/replay/account-resource.ts';
import { isFields, parsedJson } from '../record/fields.ts';
import type { EventResource } from '../trading/event-resource.ts';
import { explained } from './explained-order.ts';
import { examples, type GlobalOptions, programCommand } from './program-command.ts';
import { ask, asking, found, pathOf, type Service } from './replay-steering.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';

const COLUMNS: readonly Column<AccountSummary>[] = [
  { heading: 'address', cell: ({ address }) => address },
  { heading: 'cash', cell: ({ cash }) => cash },
  { heading: 'reserved', cell: ({ reserved }) => reserved },
  { heading: 'realised', cell: ({ realised }) => realised },
  { heading: 'orders', cell: ({ orders }) => orders },
  { heading: 'open', cell: ({ openOrders }) => openOrders },
];
const FILL = /^[1-9]\d{0,8}$/;

/** An account with some of its history. */
interface AccountHistory {
  readonly address: string;
  readonly events: readonly EventResource[];
}

interface Asked extends Service {
  readonly replay?: string | undefined;
}

/** Questions about the accounts of a replay or of a backtest. */
export function paperCommand(terminal: Terminal): CommandUnknownOpts {
  const accounts = asking('accounts', 'list the accounts of a replay', 'paper accounts')
    .option('--replay <id>', 'the replay; default: the first one')
    .action(async (options, command) => {
      const { json: isJson } = command.optsWithGlobals() as GlobalOptions;
      const listed = await accountsOf(options, await accountsPath(options));
      terminal.out(isJson === true ? json(listed) : table(terminal, COLUMNS, listed));
    });
  const shown = ['paper explain 3', 'paper explain 0x52c1… --report report.json'];
  const explain = asking('explain', 'show what happened to an order, with the record that caused each fill', ...shown)
    .argument('<order>', 'id of an order, or number of a fill')
    .option('--replay <id>', 'the replay; default: the first one')
    .option('--account <address>', 'only in this account; default: in all')
    .option('--report <file>', 'in the JSON report of a backtest')
    .action(async (id, { report, account, ...options }, command) => {
      const { json: isJson } = command.optsWithGlobals() as GlobalOptions;
      const histories = report === undefined ? await askedHistories(options, id) : reportedHistories(report, id);
      const wanted = histories.filter(
        ({ address, events }) => events.length > 0 && (account ?? address).toLowerCase() === address.toLowerCase(),
      );
      if (wanted.length === 0)
        throw new DomainError(
          'not-found',
          "no account has an order with this id, or a fill with this number: 'bookreel paper accounts' lists the accounts",
        );
      terminal.out(isJson === true ? json(wanted) : wanted.map(explained).join('\n'));
    });
  return programCommand('paper')
    .description('show the accounts of a replay with --paper, and explain their fills')
    .addCommand(accounts)
    .addCommand(explain)
    .addHelpText('after', examples('paper accounts', ...shown));
}

async function accountsPath({ replay, ...service }: Asked): Promise<string> {
  return `${pathOf((await found(service, replay)).id)}/accounts`;
}

async function accountsOf(service: Service, path: string): Promise<AccountSummary[]> {
  return await ask<AccountSummary[]>(service, 'GET', path);
}

/** The events about an order or a fill, by account. */
async function askedHistories(options: Asked, id: string): Promise<AccountHistory[]> {
  const path = await accountsPath(options);
  const about = FILL.test(id) ? `fill=${id}` : `order=${encodeURIComponent(id)}`;
  const histories: AccountHistory[] = [];
  for (const { address } of await accountsOf(options, path)) {
    const events: EventResource[] = [];
    for (let after = 0, isLast = false; !isLast; after = events.at(-1)?.id ?? 0) {
      const page = `${path}/${address}/events?limit=${PAGE_LIMIT_MAX}&after=${after}&${about}`;
      const more = await ask<EventResource[]>(options, 'GET', page);
      events.push(...more);
      isLast = more.length < PAGE_LIMIT_MAX;
    }
    histories.push({ address, events });
  }
  return histories;
}

/** The same of a report, whose events are those of the interface. */
function reportedHistories(path: string, id: string): AccountHistory[] {
  if (!existsSync(path)) throw new DomainError('unreadable', `there is no report '${path}': name a file that exists`);
  const document = parsedJson(readFileSync(path, 'utf8'));
  const accounts = isFields(document) ? document.accounts : undefined;
  if (!Array.isArray(accounts) || !accounts.every(isHistory))
    throw new DomainError(
      'unreadable',
      `'${path}' is no report of a backtest: make one with 'bookreel backtest --json'`,
    );
  const isAbout = ({ order, fill }: EventResource) => (FILL.test(id) ? fill?.number === Number(id) : order?.id === id);
  return accounts.map(({ address, events }) => ({ address, events: events.filter(isAbout) }));
}

/** True for an address with events, as far as `explained` reads them. */
function isHistory(account: unknown): account is AccountHistory {
  if (!isFields(account) || typeof account.address !== 'string' || !Array.isArray(account.events)) return false;
  return account.events.every((event: unknown) => {
    if (!isFields(event) || typeof event.kind !== 'string') return false;
    const { order = null, fill = null } = event;
    return (order === null || isFields(order)) && (fill === null || (isFields(fill) && isFields(fill.evidence)));
  });
}
