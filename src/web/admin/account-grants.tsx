import type { AccountGrant } from '../../domain/account.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import { ConfirmedButton } from '../confirmed-button.tsx';
import { Table } from '../table.tsx';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';

interface GrantsContent {
  readonly grants: readonly AccountGrant[];
  readonly catalog: readonly Tier[];
  readonly nowMs: InstantMs;
}

/** The grants that have not ended first. */
export function Grants({ grants, catalog, nowMs }: GrantsContent) {
  const hasEnded = ({ startsMs, endsMs = Infinity }: AccountGrant) => endsMs <= Math.max(nowMs, startsMs);
  const sorted = grants.toSorted((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)));
  return (
    <Table
      label="Grants"
      headings={['Tier', 'From', 'Until', 'Source', '']}
      empty="No tier was granted to this account."
    >
      {sorted.map((grant) => (
        <tr key={grant.id} class={hasEnded(grant) ? 'quiet' : undefined}>
          <td>{tierName(catalog, grant.tier)}</td>
          <td>
            <Time ms={grant.startsMs} />
          </td>
          <td>{grant.endsMs === undefined ? 'no end' : <Time ms={grant.endsMs} />}</td>
          <td>{grant.source}</td>
          <td class="number">
            {hasEnded(grant) ? (
              'ended'
            ) : (
              <ConfirmedButton
                label="End"
                action="/admin/accounts/end-grant"
                fields={{ account: grant.accountId, grant: grant.id }}
              >
                The account loses the tier {tierName(catalog, grant.tier)} with its next request, unless another grant
                has it.
              </ConfirmedButton>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface GrantFormContent {
  readonly id: number;
  readonly catalog: readonly Tier[];
  readonly typed: URLSearchParams | undefined;
}

export function GrantForm({ id, catalog, typed }: GrantFormContent) {
  const offered = catalog.filter(({ retiredMs }) => retiredMs === undefined);
  return (
    <form class="card" method="post" action="/admin/accounts/grant">
      <input type="hidden" name="account" value={id} />
      <div class="fields">
        <label class="field">
          Grant the tier
          <select class="input" name="tier">
            {offered.map((tier) => (
              <option key={tier.id} value={tier.id} selected={tier.id === typed?.get('tier')}>
                {tier.name}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          Until
          <input class="input" type="datetime-local" name="until" value={typed?.get('until') ?? ''} />
          <span class="hint">UTC. Empty: no end.</span>
        </label>
      </div>
      <button class="button primary" type="submit">
        Grant
      </button>
    </form>
  );
}
