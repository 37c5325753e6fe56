import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { type InstantMs, isInstant, parseInstant } from '../../domain/instant.ts';
import { parsedJson } from '../../record/fields.ts';
import type { ReplayOptions } from '../../replay/replay.ts';
import { type AskedReplay, ReplayChange, ReplayRequest } from './replay-resource.ts';

/** A body that asks for a replay; and whether its clock waits. Throws 'invalid-parameter'. */
export function replayRequestIn(text: string): { readonly options: ReplayOptions; readonly isPaused: boolean } {
  const asked = bodyOf(ReplayRequest, text);
  return { options: replayOptionsOf(asked), isPaused: asked.paused ?? false };
}

/** A replay's options. Throws 'invalid-parameter'. */
export function replayOptionsOf({ markets = [], coins = [], timeframes = [], ...asked }: AskedReplay): ReplayOptions {
  return {
    selection: { names: markets, coins: coins.map(canonicalCoin), timeframes },
    fromMs: instantIn('from', asked.from),
    toMs: instantIn('to', asked.to),
    speed: asked.speed ?? 1,
    gaps: asked.gaps ?? 'disconnect',
    rebase: asked.rebase === 'now',
  };
}

/** What a replay's clock is to do. */
export interface ClockChange extends Pick<Static<typeof ReplayChange>, 'speed' | 'paused' | 'step'> {
  readonly nowMs: InstantMs | undefined;
}

/** A body that steers a replay. Throws 'invalid-parameter'. */
export function replayChangeIn(text: string): ClockChange {
  const { now, ...change } = bodyOf(ReplayChange, text);
  if (now === undefined && Object.keys(change).length === 0) {
    throw new DomainError('invalid-parameter', `nothing is to be changed: ${wantedBy(ReplayChange)}`);
  }
  return { ...change, nowMs: instantIn('now', now) };
}

/** An empty body is an empty object. */
function bodyOf<T extends TSchema>(schema: T, text: string): Static<T> {
  const body = text.trim() === '' ? {} : parsedJson(text);
  if (Value.Check(schema, body)) return body;
  const name = Value.Errors(schema, body).First()?.path.split('/')[1] ?? '';
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const about = properties[name]?.description;
  throw new DomainError(
    'invalid-parameter',
    about === undefined ? wantedBy(schema) : `'${name}' is not what it may be. ${about}`,
  );
}

function wantedBy({ properties = {} }: TSchema): string {
  return `send a JSON object with any of ${Object.keys(properties).join(', ')}`;
}

function instantIn(name: string, given: string | number | undefined): InstantMs | undefined {
  if (given === undefined) return undefined;
  const instantMs = parseInstant(String(given));
  if (instantMs !== undefined && isInstant(instantMs)) return instantMs;
  throw new DomainError(
    'invalid-parameter',
    `'${name}' must be Unix milliseconds, or an ISO 8601 date or time with Z or an offset, up to the year 9999`,
  );
}
