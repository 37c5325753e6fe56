import type { UsedKey } from '../../account/account-keys.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import { ConfirmedButton } from '../confirmed-button.tsx';
import { Table } from '../table.tsx';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';

interface KeysContent {
  readonly keys: readonly UsedKey[];
  readonly catalog: readonly Tier[];
  readonly nowMs: InstantMs;
}

export function Keys({ keys, catalog, nowMs }: KeysContent) {
  return (
    <Table label="Keys" headings={['Key', 'Tier', 'Created', 'Last used', '']} empty="This account has no keys.">
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            {key.name ?? <span class="quiet">no name</span>}{' '}
            {nowMs >= (key.expiresMs ?? Infinity) && <span class="badge bad">expired</span>}
            <br />
            <code class="nowrap">{key.prefix}…</code>
          </td>
          <td>{key.tier === undefined ? <span class="quiet">of the account</span> : tierName(catalog, key.tier)}</td>
          <td>
            <Time ms={key.createdMs} />
          </td>
          <td>{key.lastUsedMs === undefined ? <span class="quiet">never</span> : <Time ms={key.lastUsedMs} />}</td>
          <td class="number">
            <ConfirmedButton
              label="Revoke"
              action="/admin/accounts/revoke-key"
              fields={{ account: key.accountId, key: key.id }}
            >
              The key is refused with its next request. This is final.
            </ConfirmedButton>
          </td>
        </tr>
      ))}
    </Table>
  );
}
