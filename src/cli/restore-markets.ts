import { InvalidArgumentError } from '@commander-js/extra-typings';
import { countText } from '../domain/count-text.ts';
import { UNIT_MS } from '../domain/duration.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { type MarketSelection, restoreMarkets } from '../store/restore-markets.ts';
import { copyVerified } from './copy-check.ts';
import { eraseLine, progressOn, shareDone } from './status-line.ts';
import { json, type Terminal } from './terminal.ts';
import { withArchive } from './with-archive.ts';

interface RestoreOptions {
  readonly data: string;
  readonly force?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly market?: readonly string[] | undefined;
  readonly day?: InstantMs | undefined;
}

/** The markets that the options of a restore name; undefined for everything. */
export function selectionOf({ market, day }: Pick<RestoreOptions, 'market' | 'day'>): MarketSelection | undefined {
  if (market !== undefined) return { names: market };
  return day === undefined ? undefined : { fromMs: day, beforeMs: day + UNIT_MS.d! };
}

/** A backup that is not there yet: `write` gives the directory its databases, and what that returns the files of sealed markets. */
interface Download {
  readonly directory: string;
  readonly write: (part: { readonly isPart: boolean }) => Promise<(paths: ReadonlySet<string>) => Promise<void>>;
}

/** Restores these markets of a backup into the archive, and prints how many. */
export async function restoreSelected(
  terminal: Terminal,
  source: string | Download,
  selection: MarketSelection,
  { data, force = false, json: isJson = false }: RestoreOptions,
): Promise<void> {
  const show = progressOn(terminal);
  const onProgress = (done: number, all: number) =>
    show((elapsedMs) => shareDone(done / all, countText(all, 'market'), elapsedMs));
  const counts = await withArchive(terminal, { data }, { create: false }, (archive) => {
    const from = typeof source === 'string' ? source : source.directory;
    return copyVerified(terminal, from, async (verify) => {
      const check = (directory: string, names: readonly string[]) => verify(directory, undefined, names);
      const fetch = typeof source === 'string' ? undefined : await source.write({ isPart: true });
      return await restoreMarkets(archive, from, selection, { force, onProgress, check, fetch });
    });
  }).finally(() => eraseLine(terminal));
  const { restored, replaced, present } = counts;
  if (restored === 0) {
    const sentence = `the archive has ${countText(present, 'such market')} already: replace with --force`;
    throw new DomainError('conflict', sentence);
  }
  const notes = [
    `${countText(restored, 'market')} restored`,
    ...(replaced === 0 ? [] : [`${replaced} of them in place of another state`]),
    ...(present === 0 ? [] : [`${present} left as the archive has them`]),
  ];
  terminal.out(isJson ? json(counts) : `${notes.join(', ')}\n`);
}

/** The beginning of a day in UTC, as the option names it. */
export function dayOf(text: string): InstantMs {
  const ms = Date.parse(`${text}T00:00:00Z`);
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(ms)) return ms;
  throw new InvalidArgumentError('It must be a day like 2026-04-16.');
}
