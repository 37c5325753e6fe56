/** Exports pass on blocks of this length. Each is digested, so that an export continues only with the same bytes. */
const BLOCK_BYTES = 2 ** 16;

/** Blocks of BLOCK_BYTES, the last one shorter. */
export async function* blocksOf(pieces: AsyncIterable<Uint8Array>) {
  let [block, filled] = [new Uint8Array(BLOCK_BYTES), 0];
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + BLOCK_BYTES - filled);
      block.set(part, filled);
      [at, filled] = [at + part.length, filled + part.length];
      if (filled < BLOCK_BYTES) continue;
      yield block;
      [block, filled] = [new Uint8Array(BLOCK_BYTES), 0];
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}

export async function digestOf(block: Uint8Array<ArrayBuffer>): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest('SHA-256', block)));
}

/** The destination of an export. */
export interface Writer {
  write(block: Uint8Array): Promise<unknown>;
  close(): Promise<unknown>;
  abort(error: unknown): Promise<unknown>;
}

/** A file for Node, Bun and Deno, with another name until it is complete. */
export async function fileWriter(path: string): Promise<Writer> {
  // Bundlers for browsers do not look into a variable.
  const module: string = 'node:fs/promises';
  const { open, rename, rm } = (await import(module)) as {
    open(path: string, flags: string): Promise<{ writeFile(block: Uint8Array): Promise<void>; close(): Promise<void> }>;
    rename(from: string, to: string): Promise<void>;
    rm(path: string): Promise<void>;
  };
  const part = `${path}.part`;
  const file = await open(part, 'w');
  return {
    write: (block) => file.writeFile(block),
    close: async () => {
      await file.close();
      await rename(part, path);
    },
    abort: async () => {
      await file.close();
      await rm(part);
    },
  };
}
