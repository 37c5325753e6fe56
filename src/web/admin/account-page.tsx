import { keysOf, type UsedKey } from '../../account/account-keys.ts';
import { usageOf } from '../../account/account-usage.ts';
import { type AccountOverview, overviewOf } from '../../account/administration.ts';
import { auditPage } from '../../account/audit-page.ts';
import type { Account, AccountGrant } from '../../domain/account.ts';
import { DomainError } from '../../domain/errors.ts';
import { type InstantMs, parsePlainInteger } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import type { UsageCounts } from '../../domain/usage.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import type { Registry } from '../../store/registry.ts';
import { Action, ConfirmedButton } from '../action.tsx';
import { Choice, Form, InstantField } from '../form.tsx';
import { PREFIX_COLUMN } from '../key-prefix.tsx';
import { linkTo } from '../link-to.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import type { RefusedForm } from '../posted-form.ts';
import { type Column, Table } from '../table.tsx';
import { bytesText, numberText } from '../texts.ts';
import { tierName } from '../tier-texts.ts';
import { Time, timeColumn, Until } from '../time.tsx';
import { lastRange } from '../usage/usage-range.tsx';
import { Figure } from '../usage/usage-tables.tsx';
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
      catalog: tiers.list(),
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
    {
      title: account.email,
      path: ACCOUNTS_PATH,
      back: { href: ACCOUNTS_PATH, name: 'Accounts' },
      refused,
      ...(link !== undefined && { scripts: [COPY_SCRIPT] }),
    },
    <>
      {link !== undefined && <NewLink email={account.email} link={link} />}
      <AccountFigures account={account} used={total.sum} />
      <h2>Plan</h2>
      <Grants grants={granted} registry={registry} nowMs={nowMs} />
      {!isDeleted && <GrantForm id={id} catalog={catalog} refused={refused} />}
      <h2 id="keys">Keys</h2>
      <Table label="Keys" columns={keyColumns(registry, nowMs)} rows={keys} empty="This account has no keys." />
      {!isDeleted && (
        <>
          <h2>Sign-in and role</h2>
          <Access account={account} />
          <h2>Disable or delete</h2>
          <Danger account={account} />
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
function AccountFigures({ account, used }: { readonly account: AccountOverview; readonly used: UsageCounts }) {
  const { name, role, tier, tierEndsMs, validKeys, createdMs, disabledMs, deletedMs } = account;
  return (
    <>
      <p class="quiet">
        {name !== undefined && `${name} · `}
        {role} · created <Time ms={createdMs} /> · <StateBadge account={account} />
        {disabledMs !== undefined && (
          <>
            {' '}
            since <Time ms={deletedMs ?? disabledMs} />
          </>
        )}
      </p>
      <div class="cards">
        <Figure
          name="Tier"
          value={tier.name}
          note={
            tierEndsMs === undefined ? <a href={`/admin/tiers/${tier.id}`}>What it has</a> : <Until ms={tierEndsMs} />
          }
        />
        <Figure name="Valid keys" value={numberText(validKeys)} note={<a href="#keys">See the keys</a>} />
        <Figure name="Requests in 30 days" value={numberText(used.requests)} note="with all its keys" />
        <Figure name="Sent in 30 days" value={bytesText(used.bytes)} note="bytes of answers, compressed" />
      </div>
    </>
  );
}

function keyColumns(registry: Registry, nowMs: InstantMs): Column<UsedKey>[] {
  return [
    {
      heading: 'Key',
      cell: ({ name, expiresMs = Infinity }) => (
        <>
          {name ?? <span class="quiet">no name</span>} {nowMs >= expiresMs && <span class="badge bad">expired</span>}
        </>
      ),
    },
    PREFIX_COLUMN,
    { heading: 'Tier', cell: ({ tier }) => (tier === undefined ? 'the account’s' : tierName(registry, tier)) },
    timeColumn('Created', 'createdMs'),
    timeColumn('Last used', 'lastUsedMs', 'never'),
    {
      heading: '',
      class: 'number',
      cell: ({ id, accountId: account }) => (
        <ConfirmedButton label="Revoke" action={`${ACCOUNTS_PATH}/revoke-key`} fields={{ account, key: id }}>
          The key is refused with its next request. This is final.
        </ConfirmedButton>
      ),
    },
  ];
}

/** A sign-in link. The page shows it only in the answer to the form that made it. */
function NewLink({ email, link }: { readonly email: string; readonly link: string }) {
  return (
    <div class="notice good" role="status">
      <p>
        This link signs in as {email}, once, within 15 minutes. It is not shown again: give it only to the owner of the
        account.
      </p>
      <Copyable id="link" label="Copy the link" text={link} />
    </div>
  );
}

function accountAction(id: number, name: string) {
  return { action: `${ACCOUNTS_PATH}/${name}`, fields: { account: id } };
}

/** The forms for the sign-in and the role of an account. */
function Access({ account: { id, email, role, disabledMs } }: { readonly account: Account }) {
  const otherRole = role === 'admin' ? 'user' : 'admin';
  return (
    <div class="card">
      {disabledMs === undefined && (
        <Action {...accountAction(id, 'link')} label="Create a sign-in link">
          Whoever opens the link signs in as {email}, once, within 15 minutes. No email is sent.
        </Action>
      )}
      <Action
        action={`${ACCOUNTS_PATH}/role`}
        fields={{ account: id, role: otherRole }}
        label={otherRole === 'admin' ? 'Make it an admin' : 'Make it a user'}
      >
        {otherRole === 'admin'
          ? 'An admin sees and changes all accounts and tiers.'
          : 'A user sees only their own account.'}
      </Action>
    </div>
  );
}

/** The forms that end the use of an account, apart from the others. */
function Danger({ account: { id, email, disabledMs } }: { readonly account: Account }) {
  return (
    <div class="card danger">
      {disabledMs === undefined ? (
        <Action
          {...accountAction(id, 'disable')}
          label="Disable"
          warning={`The keys of ${email} stop working at once.`}
        >
          The person is signed out everywhere, and the keys are refused with their next request.
        </Action>
      ) : (
        <Action {...accountAction(id, 'enable')} label="Enable">
          The keys of this account work again. Its owner has to sign in again.
        </Action>
      )}
      <Action {...accountAction(id, 'delete')} label="Delete" warning={`${email} and its keys cannot be restored.`}>
        The address, the name and the keys of the account are removed. Its usage stays, without them.
      </Action>
    </div>
  );
}

interface GrantsContent {
  readonly grants: readonly AccountGrant[];
  readonly registry: Registry;
  readonly nowMs: InstantMs;
}

/** A table that begins with the grants that have not ended. */
function Grants({ grants, registry, nowMs }: GrantsContent) {
  const hasEnded = ({ startsMs, endsMs = Infinity }: AccountGrant) => endsMs <= Math.max(nowMs, startsMs);
  const endButton = ({ id, accountId: account, tier }: AccountGrant) => (
    <ConfirmedButton label="End" action={`${ACCOUNTS_PATH}/end-grant`} fields={{ account, grant: id }}>
      The account loses the tier {tierName(registry, tier)} with its next request, unless it has another grant of it.
    </ConfirmedButton>
  );
  return (
    <Table
      label="Grants"
      columns={[
        { heading: 'Tier', cell: ({ tier }) => tierName(registry, tier) },
        timeColumn('From', 'startsMs'),
        timeColumn('Until', 'endsMs', 'no end'),
        { heading: 'Source', cell: ({ source }) => source },
        { heading: '', class: 'number', cell: (grant) => (hasEnded(grant) ? 'ended' : endButton(grant)) },
      ]}
      rows={grants.toSorted((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)))}
      isQuiet={hasEnded}
      empty="No tier was granted to this account."
    />
  );
}

interface GrantFormContent {
  readonly id: number;
  readonly catalog: readonly Tier[];
  readonly refused: RefusedForm | undefined;
}

function GrantForm({ id, catalog, refused }: GrantFormContent) {
  return (
    <Form class="card" action={`${ACCOUNTS_PATH}/grant`} hidden={{ account: id }} button="Grant" look="primary">
      <div class="fields">
        <Choice
          label="Grant the tier"
          name="tier"
          options={catalog.map((tier) => [tier.id, tier.name])}
          chosen={refused?.typed.get('tier')}
        />
        <InstantField label="Until" name="until" refused={refused}>
          In UTC. Leave it empty for no end.
        </InstantField>
      </div>
    </Form>
  );
}
