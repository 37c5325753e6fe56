/** Bytes that are read between two checks of the process's memory. */
const CHECK_EVERY_BYTES = 4 * 1024 * 1024;
/** Resident memory that an ordinary import stays below. */
const RESIDENT_BYTES_MAX = 150 * 1024 * 1024;
/** Growth that is allowed to a process that already uses more for other work. */
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;

/** Collects garbage when the process has grown: after large lines garbage takes several times the memory in use. */
export class GarbageCollection {
  #bytes = 0;
  /** Resident memory at the start, or after garbage was last collected. */
  #expectedBytes = process.memoryUsage.rss();

  /** `chunks`, with a check of the memory every CHECK_EVERY_BYTES. */
  async *whileReading(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      if (this.#bytes >= CHECK_EVERY_BYTES) {
        this.#bytes = 0;
        this.collectIfGrown();
      }
      yield chunk;
    }
  }

  collectIfGrown(): void {
    if (process.memoryUsage.rss() <= Math.max(RESIDENT_BYTES_MAX, this.#expectedBytes + GROWTH_BYTES_MAX)) return;
    Bun.gc(true);
    this.#expectedBytes = process.memoryUsage.rss();
  }
}
