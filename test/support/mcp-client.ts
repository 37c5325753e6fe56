import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';

/** The versions of the specification, with the negotiation by which the official client speaks each. */
export const VERSIONS = [
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
] as const;
export type Negotiation = (typeof VERSIONS)[number][1];

/** The answer of a tool. `value`: the document of its text; undefined for an error. */
interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
  // The answers of nine tools.
  // biome-ignore lint/suspicious/noExplicitAny: tests read it by the paths that they expect
  readonly value: any;
  /** The length of the answer as JSON, without the envelope of the transport. */
  readonly bytes: number;
}

export interface Agent extends AsyncDisposable {
  readonly client: Client;
  readonly calls: () => number;
  call(name: string, given?: Readonly<Record<string, unknown>>): Promise<ToolAnswer>;
}

/** The official client on a transport. */
export async function connected(transport: Transport, mode: Negotiation): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  let calls = 0;
  return {
    client,
    calls: () => calls,
    async call(name, given = {}) {
      calls += 1;
      const answer = await client.callTool({ name, arguments: given });
      const [content] = answer.content;
      if (content?.type !== 'text' || answer.content.length !== 1) throw new Error(JSON.stringify(answer));
      const isError = answer.isError === true;
      const bytes = Buffer.byteLength(JSON.stringify(answer.content));
      return { text: content.text, isError, value: isError ? undefined : JSON.parse(content.text), bytes };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** The official client at `/mcp` of a server. */
export function overHttp(origin: string, key: string, mode: Negotiation = VERSIONS[1][1]): Promise<Agent> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return connected(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit }), mode);
}
