import { Type } from 'typebox';

/** The two sides of a market, in the order in which `outcomes` and `clobTokenIds` list them. */
export const OUTCOMES = ['up', 'down'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** An outcome on the wire. */
export const OutcomeName = Type.Union(
  OUTCOMES.map((outcome) => Type.Literal(outcome)),
  { description: 'The outcome this is about.' },
);

export function otherOutcome(outcome: Outcome): Outcome {
  return outcome === 'up' ? 'down' : 'up';
}

/** Compared in lower case, as the contract's canonical names are; undefined when it is neither. */
export function parseOutcome(text: string): Outcome | undefined {
  const canonical = text.toLowerCase();
  return OUTCOMES.find((outcome) => outcome === canonical);
}
