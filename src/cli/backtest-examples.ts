import arbitrage from '../../fixtures/strategies/arbitrage.ts' with { type: 'text' };
import bothSides from '../../fixtures/strategies/both-sides.ts' with { type: 'text' };
import lateFavourite from '../../fixtures/strategies/late-favourite.ts' with { type: 'text' };
// @ts-expect-error TypeScript reads a module where Bun imports its text
import types from '../client/strategy.ts' with { type: 'text' };

/** They are texts already: TypeScript reads modules. */
const TEXTS: Readonly<Record<string, string>> = {
  'both-sides': String(bothSides),
  'late-favourite': String(lateFavourite),
  arbitrage: String(arbitrage),
  types: String(types),
};

export const EXAMPLE_NAMES: readonly string[] = Object.keys(TEXTS);

/** A strategy as a file next to the file of the types, or these. */
export function exampleText(name: string): string {
  return TEXTS[name]!.replace('../../src/client/strategy.ts', './strategy.ts');
}
