import { DomainError } from '../../domain/errors.ts';
import { compressionOf } from '../compression.ts';
import { decompressed, firstBytesOf } from '../decompressed.ts';
import { type ContainerKind, zipKind } from '../file-kind.ts';
import type { Source } from '../source.ts';
import { PrivateCopy } from './private-copy.ts';
import { tarMembers } from './tar.ts';

/** A file that contains files. Only ordinary files in it are read: no links, no devices, no paths that lead out of it. */
export interface Container {
  /** Its members, each a source like a file in a directory. */
  readonly sources: readonly Source[];
  /** The names of files that macOS adds, which are never recordings. */
  readonly ignored: readonly string[];
  /** The other format of a zip file that has one (such as xlsx), and what to do with it; undefined for a plain container. */
  readonly otherKind: string | undefined;
  readonly notes: readonly string[];
  /** One sentence that says why some members are not read; undefined if all are. */
  readonly problem: string | undefined;
}

interface ContainerOptions {
  readonly signal?: AbortSignal | undefined;
  /** Gets the copies that are made, and removes them when no more members are read. */
  readonly copies: DisposableStack;
}

/**
 * Lists the members of a file that is a container, which may itself be compressed. A compressed one is unpacked into a private copy, because
 * members are read out of order and twice. Throws 'unreadable' for a pipe, for a container that has no list of its
 * members or too many, and if there is no space for the copy.
 */
export async function openContainer(
  source: Source,
  kind: ContainerKind,
  { signal, copies }: ContainerOptions,
): Promise<Container> {
  const label = `'${source.name}'`;
  let place = source.path;
  let damage: unknown;
  if (compressionOf(await firstBytesOf(source.path)) !== undefined) {
    const copy = copies.use(new PrivateCopy());
    damage = await copy.write(label, decompressed(source.path, { signal }));
    if (damage !== undefined && (!(damage instanceof DomainError) || signal?.aborted === true)) throw damage;
    place = copy.path;
  }
  // Loaded when it is needed: its library takes 30 ms.
  const list =
    kind === 'zip' ? await (await import('./zip.ts')).zipMembers(place, label) : await tarMembers(place, label);
  const sources = list.members().map((member) => {
    const path = `${source.path}/${member.name}`;
    return { path, name: path, named: false, member };
  });
  return {
    sources,
    ignored: list.ignored.map((name) => `${source.path}/${name}`),
    otherKind: kind === 'zip' ? zipKind(sources.map(({ member }) => member.name)) : undefined,
    notes: list.notes(),
    problem: damage instanceof DomainError ? damage.message : list.problem(),
  };
}
