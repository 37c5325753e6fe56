import { OUTCOMES, type Outcome, parseOutcome } from '../domain/outcome.ts';
import { type Fields, rejected, stated } from '../record/fields.ts';
import { UNKNOWN_TOKEN } from './metadata-fields.ts';

/** The field names of several recorders; the first one that is present is read. */
const WINNERS = ['winner', 'winning_outcome', 'winningOutcome'];
/** Words of recorders for a market that is not resolved. */
const NO_WINNER = /^(?:|unknown|unresolved|pending|none|null|open|tbd)$/i;

/** The winner that a recorder states, as up, down or an asset; undefined without one. Throws 'rejected-record'. */
export function winnerField(fields: Fields, clobTokenIds: readonly string[]): Outcome | undefined {
  const name = WINNERS.find((candidate) => stated(fields, candidate) !== undefined);
  if (name === undefined) return undefined;
  const value = fields[name];
  if (typeof value !== 'string') throw rejected(`${name} is not a text`);
  const winner = parseOutcome(value) ?? (value === UNKNOWN_TOKEN ? undefined : OUTCOMES[clobTokenIds.indexOf(value)]);
  if (winner === undefined && !NO_WINNER.test(value)) throw rejected(`${name} is neither "up" nor "down" nor null`);
  return winner;
}
