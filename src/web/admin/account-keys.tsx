import type { UsedKey } from '../../account/account-keys.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import { ConfirmedButton } from '../action.tsx';
import type { Column } from '../table.tsx';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';
import { ACCOUNTS_PATH } from './shown-account.tsx';

export function keyColumns(catalog: readonly Tier[], nowMs: InstantMs): Column<UsedKey>[] {
  return [
    {
      heading: 'Key',
      cell: ({ name, prefix, expiresMs = Infinity }) => (
        <>
          {name ?? <span class="quiet">no name</span>} {nowMs >= expiresMs && <span class="badge bad">expired</span>}
          <br />
          <code class="nowrap">{prefix}…</code>
        </>
      ),
    },
    { heading: 'Tier', cell: ({ tier }) => (tier === undefined ? 'the account’s' : tierName(catalog, tier)) },
    { heading: 'Created', cell: ({ createdMs }) => <Time ms={createdMs} /> },
    { heading: 'Last used', cell: ({ lastUsedMs }) => <Time ms={lastUsedMs} or="never" /> },
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
