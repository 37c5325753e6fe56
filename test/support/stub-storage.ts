/** A storage with the same answer to every request. */
export function stubStorage(answer: () => Response | Promise<Response>) {
  const asked = Promise.withResolvers<void>();
  let requests = 0;
  const server = Bun.serve({
    ...{ port: 0, idleTimeout: 0 },
    fetch: () => {
      requests += 1;
      asked.resolve();
      return answer();
    },
  });
  return {
    environment: { AWS_ENDPOINT_URL: server.url.href, AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
    /** Settles with the first request. */
    asked: asked.promise,
    get requests() {
      return requests;
    },
    [Symbol.asyncDispose]: async () => await server.stop(true),
  };
}

/** The answer of a storage that is silent. */
export const never = (): Promise<Response> => Promise.withResolvers<Response>().promise;
