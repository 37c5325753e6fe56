import { formatInstant, type InstantMs } from '../domain/instant.ts';
import { timeText } from './texts.ts';

/** An instant in UTC. */
export function Time({ ms }: { readonly ms: InstantMs }) {
  return (
    <time class="nowrap" datetime={formatInstant(ms)}>
      {timeText(ms)}
    </time>
  );
}

/** The end of a tier. */
export function Until({ ms }: { readonly ms: InstantMs }) {
  return (
    <>
      until <Time ms={ms} />
    </>
  );
}
