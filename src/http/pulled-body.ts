/**
 * `chunks` at the pace at which the client reads, one ahead of it. An error cuts the connection off, so that nobody takes
 * what came for the whole. `ended` is called once, with the error if there was one.
 */
export function pulledBody(
  chunks: AsyncGenerator<Uint8Array>,
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
          const next = await chunks.next();
          // The client may have left while this was made.
          if (!isOpen) return;
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
