import { spyOn } from 'bun:test';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

/** Keeps the disk busy: nothing that is written reaches it until `wake` is called. `directory`: for a file of its own. */
export async function busyDisk(directory: string): Promise<Disposable & { readonly wake: () => void }> {
  await using any = await open(join(directory, 'any'), 'w');
  const handles: Pick<FileHandle, 'datasync'> = Object.getPrototypeOf(any);
  const { promise, resolve: wake } = Promise.withResolvers<void>();
  const slow = spyOn(handles, 'datasync').mockImplementation(() => promise);
  return { wake, [Symbol.dispose]: () => slow.mockRestore() };
}
