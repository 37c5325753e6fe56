/** True if campaigns run at their full sizes: `CAMPAIGN=full make campaign`, or `make fault`. */
export const IS_FULL = process.env.CAMPAIGN === 'full';

/** A size of a campaign: `short` by default, so that all campaigns take minutes. */
export function sized(short: number, full: number): number {
  return IS_FULL ? full : short;
}
