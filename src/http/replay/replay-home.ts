import { type Static, Type } from 'typebox';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { originOf, plainPage, plainPageHeaders } from '../docs/page.ts';
import { shell } from '../docs/quick-start.ts';
import type { HomePage } from '../docs/site.ts';
import { prefersHtml } from '../response/accept.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { examplePath, tradedMarkets } from './example-path.ts';
import { ReplayResource, replayResource } from './replay-resource.ts';

/** Maximum number of markets that are named for each replay; the list of markets has all. */
const NAMED_MAX = 8;
const TARDIS_EXAMPLE_MS = 60_000;
const DESCRIPTION =
  'Recorded order books, replayed as if they were live: clients never get data that is later than the clock.';

const ShownReplay = Type.Object(
  {
    ...ReplayResource.properties,
    traded: Type.Array(Type.String(), {
      maxItems: NAMED_MAX,
      description: 'Slugs or conditionIds of markets that are traded at its clock.',
    }),
  },
  { $id: 'ShownReplay', description: 'A replay, and names of markets that are traded at its clock.' },
);
type ShownReplay = Static<typeof ShownReplay>;

const ReplayHome = Type.Object(
  {
    name: Type.String({ description: 'bookreel replay.' }),
    version: Type.String({ description: 'Version of the program.' }),
    description: Type.String({ description: 'The purpose of this process.' }),
    authentication: Type.String({ description: 'How a key is sent, or that none is needed.' }),
    replays: Type.Optional(Type.Array(ShownReplay, { description: 'The replays; left out where keys are needed.' })),
    addresses: Type.Record(Type.String(), Type.Unknown(), { description: 'Addresses for bots.' }),
    links: Type.Record(Type.String(), Type.String(), { description: 'Paths of pages, by subject.' }),
  },
  { $id: 'ReplayHome', description: 'A process that replays, and its addresses.' },
);

/** Addresses for bots; under /replays/{replay} the first four are those of any replay. */
function addressesOf(origin: string) {
  const socket = origin.replace(/^http/, 'ws');
  return {
    socket: `${socket}/ws/market`,
    clob: `${origin}/clob`,
    gamma: `${origin}/gamma`,
    api: `${origin}/v1`,
    replays: `${origin}/v1/replays`,
    tardis: {
      replay: `${origin}/replay`,
      replayNormalized: `${origin}/replay-normalized`,
      wsReplay: `${socket}/ws-replay`,
      wsReplayNormalized: `${socket}/ws-replay-normalized`,
    },
  };
}

const LINKS = { docs: '/docs', openapi: '/openapi.json', llms: '/llms.txt', health: '/healthz', ready: '/readyz' };

/**
 * `/` of a process that replays: a page for people, JSON for programs. Where keys are needed it has the addresses only, because
 * the replays themselves are for callers with a key.
 */
export function replayHome(version: string, replays: Replays, needsKeys: boolean): HomePage {
  const answer = (request: Request, set: ResponseSettings) => {
    const origin = originOf(request);
    const shown = needsKeys ? undefined : replays.list().map((replay) => shownReplay(replays, replay));
    const headers = { ...NO_STORE, vary: 'Accept' };
    if (prefersHtml(request.headers.get('accept') ?? '')) {
      const commands = needsKeys ? keyedCommands(origin) : openCommands(origin, replays.list()[0]);
      return respond(set, pageOf(version, origin, shown, commands), { ...plainPageHeaders(), ...headers });
    }
    const authentication = needsKeys
      ? "Every address needs the header 'Authorization: Bearer <API_KEY>' with a key whose tier grants replay."
      : 'No key is needed on this machine.';
    const about = { name: 'bookreel replay', version, description: DESCRIPTION, authentication };
    return respondJson(set, { ...about, replays: shown, addresses: addressesOf(origin), links: LINKS }, headers);
  };
  return { answer, schema: ReplayHome };
}

function shownReplay(replays: Replays, replay: Replay): ShownReplay {
  const { archive } = replay;
  const traded = archive.database.readShared(() => tradedMarkets(replay).take(NAMED_MAX).toArray());
  return { ...replayResource(replays, replay), traded: traded.map(({ slug, conditionId }) => slug ?? conditionId) };
}

/** Commands to copy; each works without a change. */
function openCommands(origin: string, first: Replay | undefined) {
  const replayCommand = (verb: string) => `bookreel replay ${verb} --url '${origin}'`;
  const create = replayCommand('create --speed 10 --paused');
  if (first === undefined) return { ask: [`curl '${origin}/v1/replays'`], steer: [create] };
  const { id, clock, options, archive } = first;
  const from = new Date(clock.nowMs).toISOString();
  const to = new Date(clock.nowMs + TARDIS_EXAMPLE_MS).toISOString();
  const tardis = JSON.stringify({ exchange: 'polymarket', from, to, dataTypes: ['trade', 'quote_10s'] });
  const example = archive.database.readShared(() => examplePath(first));
  return {
    ask: [
      // Without a traded market the example is the list of replays.
      ...new Set([
        `curl '${origin}${example}'`,
        `curl '${origin}/gamma/markets?limit=1'`,
        `curl '${origin}/v1/replays'`,
      ]),
      `curl -sG '${origin}/replay-normalized' --data-urlencode 'options=${tardis}'`,
    ],
    steer: [
      ...['pause', `seek ${from}`, 'step', `speed ${options.speed}`, 'resume'].map(replayCommand),
      create,
      `curl -X PATCH '${origin}/v1/replays/${id}' -d '{"paused":true}'`,
    ],
  };
}

/** The same with a key, which the reader puts into a variable and a file. */
function keyedCommands(origin: string) {
  const curl = 'curl -H "Authorization: Bearer $KEY"';
  const options = `--url '${origin}' --key-file KEY_FILE`;
  return {
    ask: [`${curl} '${origin}/v1/replays'`, `${curl} '${origin}/gamma/markets?limit=1'`],
    steer: ['list', 'pause', 'step', 'resume'].map((verb) => `bookreel replay ${verb} ${options}`),
  };
}

function pageOf(
  version: string,
  origin: string,
  shown: readonly ShownReplay[] | undefined,
  commands: ReturnType<typeof keyedCommands>,
): string {
  const { socket, clob, gamma, api, tardis } = addressesOf(origin);
  const addresses = [
    ['Market channel', socket],
    ['CLOB', clob],
    ['Gamma', gamma],
    ['HTTP API, as of the clock', api],
    ['tardis-machine', Object.values(tardis).join(', ')],
  ] as const;
  return plainPage(
    'bookreel replay',
    `<h1>bookreel replay</h1>
<p>Version ${Bun.escapeHTML(version)}. ${DESCRIPTION}</p>
${shown === undefined ? KEY_NOTE : replaysPart(shown)}
<h2>Addresses for bots</h2>
<ul>
${addresses.map(([name, address]) => `<li>${name}: <code>${Bun.escapeHTML(address)}</code></li>`).join('\n')}
</ul>
<p>The first four addresses belong to the first replay. For another one, add <code>/replays/{replay}</code> before the path.
tardis-machine's paths replay the whole archive, in the time range of each request.</p>

<h2>Send requests</h2>
${shell(commands.ask)}

<h2>Move the clock</h2>
<p>All clients of a replay have the same clock. When it jumps, they start again with the books of the new instant.</p>
${shell(commands.steer)}

<h2>More</h2>
<ul>
<li><a href="${LINKS.docs}">API reference</a>, with requests to try; it needs no network</li>
<li><a href="${LINKS.openapi}">OpenAPI document</a></li>
<li><a href="${LINKS.llms}">The API as plain text</a>, for language models</li>
<li><a href="${LINKS.health}">Liveness</a>, <a href="${LINKS.ready}">readiness</a></li>
</ul>`,
  );
}

const KEY_NOTE = `<h2>Get a key</h2>
<p>Every request needs a key whose tier grants <code>replay</code>. The operator of this process creates one with
<code>bookreel key create --tier pro</code>. The commands below read it from a file.</p>
${shell(['export KEY=br_live_…'])}`;

function replaysPart(shown: readonly ShownReplay[]): string {
  if (shown.length === 0) return '<h2>Replays</h2>\n<p>There is no replay: create one with the command below.</p>';
  const items = shown.map(({ id, isFirst, state, now, from, to, speed, coins, markets, clients, traded }) => {
    const title = `<code>${id}</code>${isFirst ? ', the first one' : ''}`;
    const clock = `${state === 'running' ? 'runs' : state} at ${now}, speed ${speed}, from ${from} to ${to}`;
    const names = traded.map((name) => `<code>${Bun.escapeHTML(name)}</code>`).join(', ');
    const tradedText = names === '' ? 'No market is traded at this instant.' : `Traded at this instant: ${names}.`;
    const count = `${markets} ${markets === 1 ? 'market' : 'markets'} of ${Bun.escapeHTML(coins.join(', '))}`;
    return `<li>${title}: ${count}; ${clock}; ${clients} ${clients === 1 ? 'client' : 'clients'}. ${tradedText}</li>`;
  });
  return `<h2>Replays</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}
