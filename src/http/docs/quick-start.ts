import { manualPath, ROUTES } from '../routes.ts';
import { plainPage } from './page.ts';

/**
 * The page at `/`: what this is, how to get a key, three lines to paste. It names no market: which there are is for those who
 * have a key.
 */
export function quickStartPage(version: string, origin: string): string {
  const { docs, llms, openapi, segmentReader, tiers, healthz, readyz } = ROUTES;
  return plainPage(
    'bookreel',
    `<h1>bookreel</h1>
<p>Version ${Bun.escapeHTML(version)}. Recorded order books of short-horizon up-or-down prediction markets, exactly as they were recorded,
over a read-only HTTP API.</p>

<h2>1. Get a key</h2>
<p>Whoever runs this server makes one beside it. It is shown once; its tier decides coins, routes and requests a minute.</p>
${shell([`bookreel key create --tier starter`])}
${shell(['export KEY=br_live_…'])}

<h2>2. Ask</h2>
<p>The latest markets of a coin, the name of the very latest, and the first snapshots of its order books:</p>
${shell(curlLines(origin))}
<p>A coin nobody recorded is a 404. <code>bookreel import PATH</code> brings recordings in, beside the running server.</p>

<h2>3. Go on</h2>
<ul>
<li>A page ends with <code>nextCursor</code>: ask again with <code>cursor=</code> that, until it is <code>null</code>.</li>
<li><code>from</code>, <code>to</code> and <code>/at/{ts}</code> take Unix milliseconds or ISO 8601; answers have ISO 8601 UTC with milliseconds.</li>
<li>After a 429 wait as many seconds as <code>Retry-After</code> says. Errors are <code>application/problem+json</code>; <code>detail</code> says
what to do.</li>
</ul>

<h2>Read on</h2>
<ul>
<li><a href="${docs.path}">API reference</a>, with requests to try; it needs no network</li>
<li><a href="${openapi.path}">OpenAPI document</a></li>
<li><a href="${llms.path}">The same as plain text</a>, for language models</li>
<li><a href="${manualPath()}">The manual</a>: the interface, recordings, replay, configuration, limits</li>
<li><a href="${manualPath('segments')}">The format of segments</a>, the smallest download of a market, and <a href="${segmentReader.path}">a reader to
copy</a></li>
<li><code>${tiers.path}</code>: the live catalog of tiers, for any key</li>
<li><a href="${healthz.path}">Liveness</a>, <a href="${readyz.path}">readiness</a></li>
</ul>`,
  );
}

/** One command a line, as a shell takes them; the host in them is one that has no characters a shell or curl would read. */
function curlLines(origin: string): readonly string[] {
  const markets = `${origin}${ROUTES.markets.path.replace('{coin}', 'btc')}`;
  const snapshots = `${origin}${ROUTES.snapshots.path.replace('{coin}', 'btc').replace('{conditionId}', '$MARKET')}`;
  const curl = 'curl -s -H "Authorization: Bearer $KEY"';
  return [
    `${curl} '${markets}?limit=2'`,
    `MARKET=$(${curl} '${markets}?limit=1' | sed 's/.*"slug":"\\([^"]*\\)".*/\\1/')`,
    `${curl} "${snapshots}?limit=2"`,
  ];
}

function shell(lines: readonly string[]): string {
  return `<pre><code>${Bun.escapeHTML(lines.join('\n'))}</code></pre>`;
}
