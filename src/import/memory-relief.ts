/** How much is read between two looks at the process. */
const LOOK_EVERY_BYTES = 4 * 1024 * 1024;
/** Above this it is worth a pause to collect garbage: an ordinary import stays below it. */
const RESIDENT_BYTES_MAX = 150 * 1024 * 1024;
/** A process that is larger anyway, for what else it does, collects only when it has grown by so much. */
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;

/** Collects garbage when the process has grown: what large lines leave would pile up to several times what is used. */
export class MemoryRelief {
  #bytes = 0;
  /** What the process took when the import began, or when garbage was last collected. */
  #expectedBytes = process.memoryUsage.rss();

  /** The same bytes, with a look at the process now and then. */
  async *whileReading(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      if (this.#bytes >= LOOK_EVERY_BYTES) {
        this.#bytes = 0;
        this.relieve();
      }
      yield chunk;
    }
  }

  /** Collects garbage if the process has grown. */
  relieve(): void {
    if (process.memoryUsage.rss() <= Math.max(RESIDENT_BYTES_MAX, this.#expectedBytes + GROWTH_BYTES_MAX)) return;
    Bun.gc(true);
    this.#expectedBytes = process.memoryUsage.rss();
  }
}
