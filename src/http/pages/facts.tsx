import { type ComponentChildren, Fragment } from 'preact';

interface FactsContent {
  /** Values by name, in order. A fact with the value undefined is left out. */
  readonly facts: Readonly<Record<string, ComponentChildren>>;
  /** True: the list is a card of its own. */
  readonly isCard?: boolean;
}

export function Facts({ facts, isCard = true }: FactsContent) {
  return (
    <dl class={isCard ? 'card facts' : 'facts'}>
      {Object.entries(facts)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}
