/**
 * How long a client may take nothing of what waits for it, before its connection is closed. The kernel asks for more only when
 * a good part of its buffer is free: with 4 MiB of it, a reader of 30 kB/s is heard of every 70 s. The server's own timer
 * ends at 255 s, and goes in steps of 4 s.
 */
export const READER_SECONDS = 240;

/** The reader of a body. */
export interface Reader {
  readonly request: Request;
  /** Sets how long the server waits for a client; null when a request is handled without one. */
  readonly server: { timeout(request: Request, seconds: number): void } | null;
}

/** The connection ends with such a body: it would keep the body's timeout afterwards. */
export const PULLED_BODY_HEADERS = { connection: 'close' } as const;

/**
 * `chunks` at the pace at which the client reads, one ahead of it: as long as it takes any, and however long the next chunk takes
 * to be made. A client that takes none for READER_SECONDS is closed, and has left. An error cuts the connection off, so that
 * no client takes a part for the whole. `ended` is called once, with the error if there was one.
 */
export function pulledBody(
  chunks: AsyncGenerator<Uint8Array>,
  { request, server }: Reader,
  ended: (error?: unknown) => void,
): ReadableStream<Uint8Array> {
  let isOpen = true;
  const end = (error?: unknown) => {
    isOpen = false;
    ended(error);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          server?.timeout(request, 0);
          const next = await chunks.next();
          // The client may have left while this was made.
          if (!isOpen) return;
          server?.timeout(request, READER_SECONDS);
          if (next.done !== true) {
            controller.enqueue(next.value);
            return;
          }
          controller.close();
          end();
        } catch (error) {
          if (!isOpen) return;
          // With a reason the server would print it, source and all.
          controller.error();
          end(error);
        }
      },
      async cancel() {
        end();
        await chunks.return(undefined);
      },
    },
    // One step is made while the one before is on its way: rendering and the reader take two cores.
    { highWaterMark: 1 },
  );
}
