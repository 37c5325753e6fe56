/** The WebSocket of Bun. Its options and `terminate` are not in the types of browsers, which come with those of preact. */
export const BunSocket = WebSocket as (new (
  url: string,
  options?: Bun.WebSocketOptions,
) => WebSocket & Bun.WebSocket) &
  typeof WebSocket;
