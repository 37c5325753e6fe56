import type { Outcome } from '../../../domain/outcome.ts';

/** The books in the picture: those of one outcome, or of each in a panel of its own. */
export const OUTCOME_CHOICES = ['up', 'down', 'both'] as const;
export type OutcomeChoice = (typeof OUTCOME_CHOICES)[number];

/** The layers over the books. */
export const LAYERS = ['mid', 'trades', 'reference'] as const;
export type Layer = (typeof LAYERS)[number];

/** Recorded seconds in a second of play. */
export const SPEEDS = [1, 2, 5, 10, 30, 60, 300] as const;

/** Levels of each side in the ladder. */
export const LADDER_DEPTHS = [10, 25, 100] as const;

export function outcomesOf(choice: OutcomeChoice): readonly Outcome[] {
  return choice === 'both' ? ['up', 'down'] : [choice];
}
