import type { AccountGrant } from '../../domain/account.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import { ConfirmedButton } from '../action.tsx';
import { Choice, Field, Form } from '../form.tsx';
import { Table } from '../table.tsx';
import { tierName } from '../tier-texts.ts';
import { Time } from '../time.tsx';
import { ACCOUNTS_PATH } from './shown-account.tsx';

interface GrantsContent {
  readonly grants: readonly AccountGrant[];
  readonly catalog: readonly Tier[];
  readonly nowMs: InstantMs;
}

/** A table that begins with the grants that have not ended. */
export function Grants({ grants, catalog, nowMs }: GrantsContent) {
  const hasEnded = ({ startsMs, endsMs = Infinity }: AccountGrant) => endsMs <= Math.max(nowMs, startsMs);
  const endButton = ({ id, accountId: account, tier }: AccountGrant) => (
    <ConfirmedButton label="End" action={`${ACCOUNTS_PATH}/end-grant`} fields={{ account, grant: id }}>
      The account loses the tier {tierName(catalog, tier)} with its next request, unless it has another grant of it.
    </ConfirmedButton>
  );
  return (
    <Table
      label="Grants"
      columns={[
        { heading: 'Tier', cell: ({ tier }) => tierName(catalog, tier) },
        { heading: 'From', cell: ({ startsMs }) => <Time ms={startsMs} /> },
        { heading: 'Until', cell: ({ endsMs }) => <Time ms={endsMs} or="no end" /> },
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
  readonly typed: URLSearchParams | undefined;
}

export function GrantForm({ id, catalog, typed }: GrantFormContent) {
  const offered = catalog.filter(({ retiredMs }) => retiredMs === undefined);
  return (
    <Form class="card" action={`${ACCOUNTS_PATH}/grant`} hidden={{ account: id }} button="Grant" look="primary">
      <div class="fields">
        <Choice
          label="Grant the tier"
          name="tier"
          options={offered.map((tier) => [tier.id, tier.name])}
          chosen={typed?.get('tier')}
        />
        <Field label="Until" type="datetime-local" name="until" value={typed?.get('until') ?? ''}>
          In UTC. Leave it empty for a grant without an end.
        </Field>
      </div>
    </Form>
  );
}
