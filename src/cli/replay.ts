import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addSettings } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { isLoopback } from '../domain/loopback.ts';
import { createApp } from '../http/app.ts';
import { examplePath } from '../http/replay/example-path.ts';
import { paperRulesOf, type ReplaysAndDesks, replayOptionsOf, replayResource } from '../http/replay/replay-resource.ts';
import { Sockets } from '../http/replay/socket.ts';
import type { Replay } from '../replay/replay.ts';
import { Replays } from '../replay/replays.ts';
import { STAND_IN_PREFIX } from '../replay/stand-in-assets.ts';
import { openRegistry } from '../store/registry.ts';
import { PaperDesks } from '../trading/paper-desks.ts';
import { viewSite } from '../web/view/view-site.ts';
import { certificateFiles } from './certificate.ts';
import { Listener, originOf } from './listening.ts';
import { PresentLog } from './present-log.ts';
import { type OptionsOf, programCommand, refuseOtherVerbs } from './program-command.ts';
import { addSelectionFlags, requestOf } from './replay-selection.ts';
import { ReplayStatus } from './replay-status.ts';
import { steeringCommands } from './replay-steering.ts';
import { edgeOf } from './serve-edge.ts';
import { openLog } from './service-log.ts';
import { stopSignals } from './stop-signals.ts';
import { json, type Terminal } from './terminal.ts';
import { renewOnHangup, ServedCertificate, warnOfPlainText } from './tls.ts';
import { REPLAYED_HOSTS, type TlsRecipe, tlsRecipe } from './tls-recipe.ts';
import { VERSION } from './version.ts';
import { withArchive } from './with-archive.ts';

type ReplayOptions = OptionsOf<typeof declared>;

const GOING_AWAY = 1001;
/** The time for sockets to close and requests in progress to be answered. */
const DRAIN_MS = 2000;
const IDLE_SECONDS = 30;
/** More than the maximum number of assets or market names in a usual spelling. */
const BODY_BYTES_MAX = 2 * 1024 * 1024;

/** `bookreel replay` is `bookreel replay start`; the other commands steer a process that replays. */
export function replayCommand(terminal: Terminal): CommandUnknownOpts {
  const start = startCommand(terminal);
  const command = programCommand('replay')
    .description("replay recordings in the venue's own protocol: bots run on them as if they were live")
    .configureHelp({ visibleOptions: () => start.createHelp().visibleOptions(start) })
    .addCommand(start, { isDefault: true });
  refuseOtherVerbs(command, start);
  for (const steering of steeringCommands(terminal)) command.addCommand(steering);
  return command.addHelpText('after', helpOf('replay'));
}

function startCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    await replay(terminal, command.optsWithGlobals());
  });
}

function declared() {
  const command = addSelectionFlags(
    programCommand('start').description('listen and replay; the default command'),
  ).option('--tls-recipe <dir>', "make a certificate for the venue's and Binance's hosts, and use it");
  return addSettings(
    command,
    ...(['host', 'replayPort', 'tlsCert', 'tlsKey', 'logLevel', 'maxSockets'] as const),
    ...(['corsOrigins', 'allowedHosts', 'newAccountTier'] as const),
  ).addHelpText('after', helpOf('replay start'));
}

function helpOf(words: string): string {
  return `
One port serves the venue's WebSocket (/ws/market), RTDS (/rtds) and REST,
Binance's prices (/ws/btcusdt@trade, /stream, /api/v3), the API as of the
clock's instant (/v1), and the replays themselves (/v1/replays), as the other
replay commands do. Servers, imports and other replays may use the same data
meanwhile. SIGTERM or SIGINT stops the process.

On loopback no key is needed. On any other address every request needs a key
whose tier grants replay: see 'bookreel manual public'. SIGHUP: the files of
--tls-cert and --tls-key are read again.

Examples:
  $ bookreel ${words} --coin btc --tf 5m
  $ bookreel ${words} --market btc-updown-5m-1776808200 --speed 10 --rebase now
  $ bookreel ${words} --from 2026-04-16T07:00:00Z --to 2026-04-16T08:00:00Z --speed max --paused
  $ bookreel replay seek 2026-04-16T07:10:00Z`;
}

/** Replays until SIGTERM or SIGINT. */
async function replay(terminal: Terminal, given: ReplayOptions): Promise<void> {
  const recipe = await recipeOf(given, terminal.clock());
  const options =
    recipe === undefined
      ? given
      : { ...given, allowedHosts: new Set([...(given.allowedHosts ?? []), ...REPLAYED_HOSTS]) };
  const files = recipe ?? certificateFiles(options);
  const certificate = files && new ServedCertificate(files, terminal);
  await withArchive(terminal, options, { create: false }, async (archive) => {
    using registry = openRegistry(options.data, { ...options, create: false });
    const clocks = { monotonicMs: () => performance.now(), wallMs: terminal.clock };
    const replays = new Replays(archive, clocks);
    const asked = requestOf(options);
    const paper = paperRulesOf(asked);
    const replay = replays.create(replayOptionsOf(asked));
    // On a terminal, lines are written above the repainted one.
    await using log = terminal.errIsTerminal
      ? openLog(terminal, options.logLevel, async (lines) => status.write(lines))
      : openLog(terminal, options.logLevel);
    using status = new ReplayStatus(terminal, replays, log);
    using presentLog = new PresentLog(replays, log);
    const sockets = new Sockets(options.maxSockets, log.error);
    const desks = new PaperDesks(replays, { monotonicMs: clocks.monotonicMs, failed: sockets.failed });
    if (paper !== undefined) desks.open(replay, paper);
    const { first, second } = stopSignals();
    let draining = false;
    const needsKeys = !isLoopback(options.host);
    const app = createApp({
      archive,
      registry,
      version: VERSION,
      clocks: () => ({ monotonicMs: performance.now(), wallMs: terminal.clock() }),
      isDraining: () => draining,
      logError: log.error,
      edge: edgeOf(options, undefined),
      pages: () => viewSite({ access: needsKeys ? 'key' : 'open', tokens: undefined, isReplay: true }),
      replay: { replays, desks, sockets, needsKeys },
    });
    const { host, port } = options;
    const bounds = { idleSeconds: IDLE_SECONDS, bodyBytesMax: BODY_BYTES_MAX };
    const listening = new Listener(app, { host, port, ...bounds, certificate: certificate?.current, log });
    using _ = renewOnHangup(certificate, () => listening, terminal, log);
    warnOfPlainText(log, options.host, certificate);
    certificate?.check(log);
    const origin = originOf(host, listening.port, certificate !== undefined);
    announce(terminal, options, origin, { replays, desks }, replay, recipe);
    if (options.paused !== true) replay.resume();
    status.start();
    presentLog.start();
    await first;
    draining = true;
    status[Symbol.dispose]();
    presentLog[Symbol.dispose]();
    log.info('stopping: closing the sockets');
    sockets.closeAll(GOING_AWAY, 'the replay is stopping');
    for (const { id } of replays.list()) replays.stop(id);
    await Promise.race([listening.drain(), second, Bun.sleep(DRAIN_MS)]);
    listening.stop();
  });
}

/** The files of --tls-recipe; undefined without it. */
async function recipeOf(
  { tlsRecipe: directory, tlsCert }: ReplayOptions,
  nowMs: number,
): Promise<TlsRecipe | undefined> {
  if (directory === undefined) return undefined;
  if (tlsCert === undefined) return await tlsRecipe(directory, nowMs);
  throw new DomainError('invalid-parameter', '--tls-recipe makes a certificate of its own: leave --tls-cert out');
}

function announce(
  terminal: Terminal,
  options: ReplayOptions,
  origin: string,
  deps: ReplaysAndDesks,
  replay: Replay,
  recipe: TlsRecipe | undefined,
): void {
  const resource = replayResource(deps, replay);
  const sockets = origin.replace(/^http/, 'ws');
  const [socket, rtds, binance] = [`${sockets}/ws/market`, `${sockets}/rtds`, `${sockets}/stream`];
  const curl = curlLine(replay, origin, !isLoopback(options.host));
  if (options.json === true) {
    const addresses = { address: origin, data: options.data, replay: resource, rest: origin, socket, rtds, binance };
    terminal.out(json({ ...addresses, recipe, curl }));
    return;
  }
  const { markets, coins, simulated, standIns, from, to, speed, state, now, paper } = resource;
  const orders = paper === null ? '' : `Orders      ${origin}, ${sockets}/ws/user\n`;
  terminal.out(
    `bookreel ${VERSION} replays ${countText(markets, 'market')} of ${coins.join(', ')} from '${options.data}'
from ${from} to ${to}, speed ${speed}${options.paused === true ? `, ${state} at ${now}` : ''}
WebSocket   ${socket}
REST        ${origin}
RTDS        ${rtds}
Binance     ${binance}
${orders}${recipeLines(recipe)}${simulatedLine(simulated)}${standInsLine(standIns)}${curl}
`,
  );
}

function recipeLines(recipe: TlsRecipe | undefined): string {
  if (recipe === undefined) return '';
  const { hostsPath, authorityPath } = recipe;
  return `Hosts       add the line of '${hostsPath}' to /etc/hosts of the program
Trust       set NODE_EXTRA_CA_CERTS or SSL_CERT_FILE of the program to '${authorityPath}'
`;
}

function simulatedLine(coins: readonly string[]): string {
  return coins.length === 0 ? '' : `Simulated   markets and prices of ${coins.join(', ')}\n`;
}

function standInsLine(standIns: number): string {
  if (standIns === 0) return '';
  return `${countText(standIns, 'market')} without recorded asset ids: stand-ins for them begin with ${STAND_IN_PREFIX}\n`;
}

function curlLine(replay: Replay, origin: string, needsKey: boolean): string {
  const header = needsKey ? ` -H "Authorization: Bearer $BOOKREEL_KEY"` : '';
  return `curl${header} '${origin}${replay.archive.database.read(() => examplePath(replay))}'`;
}
