import { type Container, openContainer } from '../containers/container.ts';
import { containerKind } from '../file-kind.ts';
import { openSource } from '../opened-source.ts';
import { type Source, sizeOf, unreadable } from '../source.ts';

/**
 * Opens a file that is a container; undefined for any other file and for a pipe. `copies` gets the copies to remove later. Throws
 * 'unreadable' for a container that an import refuses.
 */
export async function inspectedContainer(source: Source, copies: DisposableStack): Promise<Container | undefined> {
  if (sizeOf(source.path) === undefined) return undefined;
  const kind = containerKind((await openSource(source, {})).sample.head);
  if (kind === undefined) return undefined;
  const container = await openContainer(source, kind, { copies });
  const { otherKind, problem, sources } = container;
  if (otherKind !== undefined) throw unreadable(`'${source.name}' is ${otherKind}`);
  if (sources.length > 0) return container;
  throw unreadable(problem ?? `'${source.name}' has no files: there is nothing to inspect`);
}
