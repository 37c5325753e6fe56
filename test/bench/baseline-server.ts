import { openBaselines } from './baselines.ts';

/**
 * The baselines behind a bare server, for the comparison over HTTP: no key, no limit, no headers to speak of. Started
 * with the database's path; prints its port.
 */
const baselines = openBaselines(Bun.argv[2]!);
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const page = pathname === '/msgpack' ? baselines.msgpackPage : baselines.jsonPage;
    const body = page(
      searchParams.get('market')!,
      Number(searchParams.get('from')),
      Number(searchParams.get('limit')),
      null,
    );
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  },
});
console.log(server.port);
