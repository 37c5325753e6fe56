import { keysOf } from '../../account/account-keys.ts';
import { usageOf } from '../../account/account-usage.ts';
import { type AccountOverview, overviewOf } from '../../account/administration.ts';
import { auditPage } from '../../account/audit-page.ts';
import { DomainError } from '../../domain/errors.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import type { UsageCounts } from '../../domain/usage.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Facts } from '../../http/pages/facts.tsx';
import { linkTo } from '../link-to.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { RefusedForm } from '../refused-form.ts';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { bytesText, numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import { lastRange } from '../usage/usage-range.tsx';
import { Access, NewLink } from './account-access.tsx';
import { GrantForm, Grants } from './account-grants.tsx';
import { keyColumns } from './account-keys.tsx';
import { AUDIT_LABEL, AUDIT_PATH, ENTRY_COLUMNS } from './audit.tsx';
import { ACCOUNTS_PATH, StateBadge } from './shown-account.tsx';

/** Entries of the audit on the page. */
const ENTRIES_MAX = 10;

/** The result of a form, for the page of its account. */
export interface FormResult {
  readonly refused?: RefusedForm;
  /** A new sign-in link. */
  readonly link?: string;
}

/** GET /admin/accounts/{id}. */
export function accountPage(deps: WebDeps, person: Person, { parameter }: PageRequest): Promise<Answer> {
  return pageOfAccount(deps, person, parsePlainInteger(parameter) ?? 0);
}

/** The page of an account, also of a deleted one. Throws 'not-found'. */
export async function pageOfAccount(
  deps: WebDeps,
  person: Person,
  id: number,
  result: FormResult = {},
): Promise<Answer> {
  const { registry, service } = deps;
  const { accounts, apiKeys, database, grants, tiers } = registry;
  const nowMs = deps.nowMs();
  const { account, granted, catalog, keyIds } = database.read(() => {
    const found = accounts.find(id);
    if (found === undefined) {
      throw new DomainError('not-found', 'there is no such account: open the list of accounts again');
    }
    return {
      account: overviewOf(registry, nowMs, found),
      granted: grants.ofAccount(id),
      catalog: tiers.all(),
      keyIds: apiKeys.idsOf(id),
    };
  });
  const { usage } = service.activity;
  const keys = keysOf(registry, usage, id);
  const { total } = await usageOf(usage, keyIds, lastRange('30d', nowMs), nowMs);
  const entries = auditPage(registry, { limit: ENTRIES_MAX, accountId: id });
  const { refused, link } = result;
  const isDeleted = account.deletedMs !== undefined;
  return personPage(
    person,
    { title: account.email, path: ACCOUNTS_PATH, refused, ...(link !== undefined && { scripts: [COPY_SCRIPT] }) },
    <>
      {link !== undefined && <NewLink email={account.email} link={link} />}
      <Facts facts={factsOf(account, total.sum)} />
      <h2>Grants</h2>
      <Grants grants={granted} catalog={catalog} nowMs={nowMs} />
      {!isDeleted && <GrantForm id={id} catalog={catalog} typed={refused?.typed} />}
      <h2>Keys</h2>
      <Table label="Keys" columns={keyColumns(catalog, nowMs)} rows={keys} empty="This account has no keys." />
      {!isDeleted && (
        <>
          <h2>Access</h2>
          <Access account={account} />
        </>
      )}
      <h2>Latest changes</h2>
      <Table label={AUDIT_LABEL} columns={ENTRY_COLUMNS} rows={entries} empty="Nothing was changed yet." />
      {entries.length > 0 && (
        <p class="row">
          <a href={linkTo(AUDIT_PATH, { account: id })}>All changes of this account</a>
        </p>
      )}
    </>,
  );
}

/** `used`: the usage of its keys in the last 30 days. */
function factsOf(account: AccountOverview, used: UsageCounts) {
  const { name, role, tier, tierEndsMs, validKeys, createdMs, disabledMs, deletedMs } = account;
  return {
    State: (
      <>
        <StateBadge account={account} />
        {disabledMs !== undefined && (
          <>
            {' '}
            since <Time ms={deletedMs ?? disabledMs} />
          </>
        )}
      </>
    ),
    Name: name ?? '–',
    Role: role,
    Tier: (
      <>
        <a href={`/admin/tiers/${tier.id}`}>{tier.name}</a> {tierEndsMs !== undefined && <Until ms={tierEndsMs} />}
      </>
    ),
    'Valid keys': numberText(validKeys),
    Created: <Time ms={createdMs} />,
    Usage: (
      <>
        {numberText(used.requests)} requests and {bytesText(used.bytes)} in 30 days (
        <a href="/admin/usage">usage of all accounts</a>)
      </>
    ),
  };
}
