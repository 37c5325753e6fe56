/** A call of a node: JSON-RPC. */
interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Answers a call instead of the node; undefined: the node answers. A promise that never settles is a node that hangs. */
type Fault = (call: Call) => unknown;

/** A node between the service and a chain, which can lie, fail and hang. */
export function startRpcProxy(rpcUrl: string) {
  let fault: Fault = () => undefined;
  const calls: string[] = [];
  const ask = async (call: Call) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(rpcUrl, { method: 'POST', headers, body: JSON.stringify(call) });
    return Response.json(await answer.json());
  };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const call = (await request.json()) as Call;
      calls.push(call.method);
      const result = await fault(call);
      if (result instanceof Response) return result;
      if (result !== undefined) return Response.json({ jsonrpc: '2.0', id: call.id, result });
      return await ask(call);
    },
  });
  return {
    /** With credentials, which must not be shown. */
    url: `http://user:rpc-secret@127.0.0.1:${server.port}/v2/rpc-secret`,
    calls,
    /** The answer of the node. */
    ask,
    fail: (next: Fault) => {
      fault = next;
    },
    repair: () => {
      fault = () => undefined;
    },
    [Symbol.asyncDispose]: async () => await server.stop(true),
  };
}
