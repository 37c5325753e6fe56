import type { ResponseSettings } from './response.ts';

/**
 * Time without reads after which a client's connection is closed. The kernel asks for more bytes only when much of its buffer is
 * free: with a buffer of 4 MiB, a client that reads 30 kB/s causes a read every 70 s. The server's timer has a maximum of 255 s and
 * a resolution of 4 s.
 */
export const READER_SECONDS = 240;

export interface Reader {
  readonly request: Request;
  /** Sets the server's idle timeout of the connection; null if a request is handled without a server. */
  readonly server: { timeout(request: Request, seconds: number): void } | null;
  /** Instead of READER_SECONDS. */
  readonly readerSeconds?: number;
  /** The counters of the answer's bytes. */
  readonly set?: Pick<ResponseSettings, 'usage' | 'observer'>;
}

/**
 * A body that makes chunks at the pace of the client, one chunk ahead. A chunk may take any time to make. The connection of a
 * client that reads nothing for READER_SECONDS is closed: it has left. The signal that `chunksUntil` gets is then aborted: the
 * generator must end at its next step. An error cuts off the connection, so that no client takes a part for the whole: answers must not
 * say `connection: close`, since fetch() of Node takes any end of such a body for its whole. The connection keeps `readerSeconds`
 * as its idle time. `whenEnded` is called once, after the generator's last step, with the error if there was one.
 */
export function pulledBody(
  chunksUntil: (left: AbortSignal) => AsyncGenerator<Uint8Array>,
  { request, server, readerSeconds = READER_SECONDS, set: { usage, observer } = {} }: Reader,
  whenEnded: (error?: unknown) => void,
): ReadableStream<Uint8Array> {
  const leaving = new AbortController();
  const left = leaving.signal;
  const chunks = chunksUntil(left);
  observer?.streamChanged(1);
  const ended = (error?: unknown) => {
    observer?.streamChanged(-1);
    whenEnded(error);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          server?.timeout(request, 0);
          const next = await chunks.next();
          // The client may have left since.
          if (left.aborted) return;
          server?.timeout(request, readerSeconds);
          if (next.done !== true) {
            usage?.sent(next.value.length);
            observer?.sent(next.value.length);
            controller.enqueue(next.value);
            return;
          }
          controller.close();
          ended();
        } catch (error) {
          if (left.aborted) return;
          // Without a reason: the server would print it with its source.
          controller.error();
          ended(error);
        }
      },
      async cancel() {
        leaving.abort();
        try {
          // A step under way ends first.
          await chunks.return(undefined);
        } finally {
          ended();
        }
      },
    },
    // The next step is made while the previous one is sent: rendering and the reader use two cores.
    { highWaterMark: 1 },
  );
}
