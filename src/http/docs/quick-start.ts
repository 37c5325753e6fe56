import { manualPath } from './manual-page.ts';
import { plainPage } from './page.ts';

/** The recordings that the page mentions. */
export interface Recorded {
  /** By name. */
  readonly coins: readonly string[];
  /** A coin with order books, and a tier that may read them; undefined where nothing of that kind is recorded. */
  readonly example: { readonly coin: string; readonly tier: string } | undefined;
}

/**
 * The page at `/`: a description, how to get a key, three commands to paste. It names coins but no markets, which only clients
 * with a key may see. `recorded` is undefined while the archive cannot be read.
 */
export function quickStartPage(version: string, origin: string, recorded: Recorded | undefined): string {
  const { coin, tier } = recorded?.example ?? { coin: 'btc', tier: 'starter' };
  return plainPage(
    'bookreel',
    `<h1>bookreel</h1>
<p>Version ${Bun.escapeHTML(version)}. Recorded order books of short-horizon up-or-down prediction markets, exactly as they were recorded,
over a read-only HTTP API.</p>
${recorded === undefined ? '' : coinsLine(recorded.coins)}
<h2>1. Get a key</h2>
<p>The operator of this server creates keys on its command line, also while it runs. A key is shown only once. Its tier decides the coins
and routes that it may read, and its number of requests per minute.</p>
${shell([`bookreel key create --tier ${tier}`])}
${shell(['export KEY=br_live_…'])}

${recorded === undefined || recorded.example !== undefined ? request(coin, origin) : IMPORT}
<h2>3. Continue</h2>
<ul>
<li>A page ends with <code>nextCursor</code>. To get the next page, repeat the request with <code>cursor=</code> that value, until it is
<code>null</code>.</li>
<li><code>from</code>, <code>to</code> and <code>/at/{ts}</code> take Unix milliseconds or ISO 8601; answers have ISO 8601 UTC with milliseconds.</li>
<li>After a 429, wait for the number of seconds in <code>Retry-After</code>. Errors are <code>application/problem+json</code>;
<code>detail</code> says what to do.</li>
</ul>

<h2>More</h2>
<ul>
<li><a href="/docs">API reference</a>, with requests to try; it needs no network</li>
<li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/llms.txt">The API as plain text</a>, for language models</li>
<li><a href="${manualPath()}">The manual</a>: the interface, recordings, replay, configuration, a public address, limits</li>
<li><a href="${manualPath('segments')}">The format of segments</a>, the smallest download of a market, and <a href="/docs/segment-reader.ts">a reader to
copy</a></li>
<li><code>/v1/coins</code>: the coins that a key may read, and how much is recorded of each</li>
<li><code>/v1/billing/tiers</code>: the current tiers, for any key</li>
<li><a href="/healthz">Liveness</a>, <a href="/readyz">readiness</a></li>
</ul>`,
  );
}

const IMPORT = `<h2>2. Import a recording</h2>
<p>No order books are recorded here yet. Import a recording on the machine of this server, also while it runs, and load this page again:</p>
${shell(['bookreel import PATH'])}
`;

function coinsLine(coins: readonly string[]): string {
  return coins.length === 0
    ? ''
    : `<p>Recorded coins: ${coins.map((coin) => `<code>${coin}</code>`).join(', ')}.</p>\n`;
}

function request(coin: string, origin: string): string {
  return `<h2>2. Send a request</h2>
<p>These commands print the latest market of <code>${coin}</code> with recorded order books, keep its name, and print its first two order
book snapshots:</p>
${shell(curlLines(coin, origin))}
`;
}

/** One command per line. The host in them has no characters with a meaning for a shell or curl. */
function curlLines(coin: string, origin: string): readonly string[] {
  const markets = `${origin}/v1/${coin}/markets?recorded=true&limit=1`;
  const snapshots = `${origin}/v1/${coin}/markets/$MARKET/snapshots?limit=2`;
  const curl = 'curl -s -H "Authorization: Bearer $KEY"';
  return [
    `${curl} '${markets}'`,
    `MARKET=$(${curl} '${markets}' | sed 's/.*"slug":"\\([^"]*\\)".*/\\1/')`,
    `${curl} "${snapshots}"`,
  ];
}

/** Commands, one per line. */
export function shell(lines: readonly string[]): string {
  return `<pre><code>${Bun.escapeHTML(lines.join('\n'))}</code></pre>`;
}
