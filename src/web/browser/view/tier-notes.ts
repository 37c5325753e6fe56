import { timeText } from '../../../domain/instant.ts';
import type { ConnectedKey, Connection } from './connection.ts';
import type { Notice } from './request-refused.ts';

/** The routes that the browse page and the page of a market need, and what they show. */
const SHOWN = [
  ['quotes', 'The list has no midpoints.'],
  ['snapshots', 'The pages of markets show no books.'],
] as const;

/** Sentences about data that a key does not show in the list of recordings: late data, midpoints, markets. */
export function tierNotes(
  connection: Pick<Connection, 'grants' | 'missingGrant'>,
  connected: ConnectedKey | undefined,
): Notice[] {
  if (connected === undefined) return [];
  const { key } = connected;
  const notes: Notice[] = [];
  if (key.asOf !== null) {
    const sentence = `Your key shows what was recorded until ${timeText(Date.parse(key.asOf))}.`;
    notes.push({ sentence, link: undefined });
  }
  for (const [route, consequence] of SHOWN) {
    if (!connection.grants(route)) notes.push(connection.missingGrant(route, consequence));
  }
  return notes;
}
