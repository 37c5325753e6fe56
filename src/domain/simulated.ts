/** The source of the simulated prices, and the beginning of every slug of the simulated markets. */
export const SIMULATED = 'simulated';

/** Returns true if a market is one of the simulated recordings that come with the program. */
export function isSimulated({ slug }: { readonly slug: string }): boolean {
  return slug.startsWith(`${SIMULATED}-`);
}
