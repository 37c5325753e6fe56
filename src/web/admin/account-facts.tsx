import type { AccountOverview } from '../../account/administration.ts';
import type { UsageCounts } from '../../domain/usage.ts';
import { bytesText, numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import { StateBadge } from './account-list.tsx';

interface FactsContent {
  readonly account: AccountOverview;
  /** Its usage in 30 days. */
  readonly used: readonly UsageCounts[];
}

export function Facts({ account, used }: FactsContent) {
  const sum = (field: keyof UsageCounts) => used.reduce((total, counts) => total + counts[field], 0);
  const { name, role, tier, tierEndsMs, validKeys, createdMs, disabledMs, deletedMs } = account;
  return (
    <div class="card">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StateBadge account={account} />
          {disabledMs !== undefined && (
            <>
              {' '}
              since <Time ms={deletedMs ?? disabledMs} />
            </>
          )}
        </dd>
        <dt>Name</dt>
        <dd>{name ?? '–'}</dd>
        <dt>Role</dt>
        <dd>{role}</dd>
        <dt>Tier</dt>
        <dd>
          <a href={`/admin/tiers/${tier.id}`}>{tier.name}</a> {tierEndsMs !== undefined && <Until ms={tierEndsMs} />}
        </dd>
        <dt>Valid keys</dt>
        <dd>{numberText(validKeys)}</dd>
        <dt>Created</dt>
        <dd>
          <Time ms={createdMs} />
        </dd>
        <dt>Usage</dt>
        <dd>
          {numberText(sum('requests'))} requests and {bytesText(sum('bytes'))} in 30 days (
          <a href="/admin/usage">of all accounts</a>)
        </dd>
      </dl>
    </div>
  );
}
