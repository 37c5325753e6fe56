import { Type } from 'typebox';

/** The two outcomes of a market, in the order of `outcomes` and `clobTokenIds`. */
export const OUTCOMES = ['up', 'down'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const OutcomeName = Type.Union(
  OUTCOMES.map((outcome) => Type.Literal(outcome)),
  { description: 'The outcome of the market.' },
);

export function otherOutcome(outcome: Outcome): Outcome {
  return outcome === 'up' ? 'down' : 'up';
}

/** Accepts any case; undefined for any other word. */
export function parseOutcome(text: string): Outcome | undefined {
  const canonical = text.toLowerCase();
  return OUTCOMES.find((outcome) => outcome === canonical);
}
