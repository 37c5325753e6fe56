import { DomainError } from '../domain/errors.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { OUTCOMES, type Outcome, parseOutcome } from '../domain/outcome.ts';
import {
  conditionIdField,
  type Fields,
  isFields,
  numericField,
  optional,
  rejected,
  stated,
  textField,
} from '../record/fields.ts';
import { timestampOf } from './book-message-parser.ts';
import { venueDetails } from './detail-fields.ts';
import { tokensByLabel } from './metadata-fields.ts';
import { slugField, windowOfSlug } from './slug.ts';

/**
 * The market of a `new_market` message: {id, market, slug, assets_ids, outcomes, event_message: {id}, timestamp}. Undefined for
 * a market of another kind: every client gets the messages about all markets. Throws DomainError 'rejected-record' when a field
 * of an up-or-down market is missing or invalid.
 */
export function announcedMarket(frame: Fields): MarketStatement | undefined {
  const statement = describedMarket(frame);
  return statement && { ...statement, createdMs: timestampOf(frame) };
}

/** The market in a message; undefined for a market of another kind. */
function describedMarket(frame: Fields): MarketStatement | undefined {
  const slug = slugField(frame);
  const window = windowOfSlug(slug, timestampOf(frame));
  if (window === undefined) return undefined;
  const event = frame.event_message;
  return {
    conditionId: conditionIdField(frame, stated(frame, 'market') === undefined ? 'condition_id' : 'market'),
    slug,
    ...window,
    clobTokenIds: tokensByLabel(frame.outcomes, frame.assets_ids ?? frame.clob_token_ids, 'assets_ids'),
    marketId: optional(frame, 'id', numericField),
    eventId: isFields(event) ? optional(event, 'id', numericField) : undefined,
    statedMs: timestampOf(frame),
    details: venueDetails({ ...frame, title: isFields(event) ? event.title : undefined }),
  };
}

/**
 * The statement of a `market_resolved` message, {market, winning_asset_id, winning_outcome, timestamp}. An older shape also has
 * the slug, assets_ids and outcomes of `new_market`; without them the market must be known. Undefined for a market of another
 * kind. Throws DomainError 'rejected-record' when the market is not known, or the message contradicts itself.
 */
export function resolvedMarket(
  frame: Fields,
  findMarket: (conditionId: string) => MarketStatement | undefined,
): MarketStatement | undefined {
  const conditionId = conditionIdField(frame, 'market');
  const known = findMarket(conditionId);
  if (known === undefined && stated(frame, 'slug') === undefined) throw new UnknownMarket(conditionId);
  const market = known ?? describedMarket(frame);
  if (market === undefined) return undefined;
  const winner = winnerOf(frame, market.clobTokenIds);
  return { ...market, winner, closed: true, resolvedMs: timestampOf(frame) };
}

function winnerOf(frame: Fields, clobTokenIds: readonly string[]): Outcome {
  const label = optional(frame, 'winning_outcome', textField);
  const byLabel = label === undefined ? undefined : parseOutcome(label);
  const assetId = optional(frame, 'winning_asset_id', numericField);
  const byAsset = assetId === undefined ? undefined : OUTCOMES[clobTokenIds.indexOf(assetId)];
  if (byLabel !== undefined && byAsset !== undefined && byLabel !== byAsset) {
    throw rejected(`winning_outcome ${label} and winning_asset_id ${assetId} are not the same outcome`);
  }
  const winner = byAsset ?? byLabel;
  if (winner === undefined) throw rejected('neither winning_outcome nor winning_asset_id is up or down');
  return winner;
}

/** The error for a record of a market that no market record states. */
export class UnknownMarket extends DomainError {
  readonly conditionId: string;

  constructor(conditionId: string, message?: string) {
    const what = message ?? `market ${conditionId} is unknown`;
    super('rejected-record', `${what}: import its market record first, or name a file with it (--markets)`);
    this.conditionId = conditionId;
  }
}
