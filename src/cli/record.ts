import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { addSettings, durationFrom, integerFrom } from '../config.ts';
import { COIN_ALIASES, refuseUnknownCoins } from '../domain/coin.ts';
import { countText } from '../domain/count-text.ts';
import { parseDuration, UNIT_MS } from '../domain/duration.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { TIMEFRAMES } from '../domain/timeframe.ts';
import type { Log } from '../http/plugins/log.ts';
import { JournalFollower } from '../recorder/journal-follower.ts';
import { Recorder } from '../recorder/recorder.ts';
import { AnchoredClock } from '../recorder/recorder-clock.ts';
import { askByFetch, connectWebSocket } from '../recorder/web-connection.ts';
import type { Archive } from '../store/archive.ts';
import { isSystemError, systemSentence } from '../store/database-errors.ts';
import { freeBytes, lowDisk } from '../store/disk-floor.ts';
import { RecorderFile, writeRecorderStatus } from '../store/recorder-file.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { Upkeep } from '../store/upkeep.ts';
import { isWindowStart, windowOfSlug } from '../venue/slug.ts';
import { auditDeletion } from './delete.ts';
import { EXIT, ExitWith } from './exit.ts';
import { coins, timeframes } from './export.ts';
import { examples, type OptionsOf, programCommand, refuseOtherVerbs } from './program-command.ts';
import { recordStatusCommand } from './record-status.ts';
import { importLines, StoringProcess, storeForParent } from './record-store.ts';
import { openLog } from './service-log.ts';
import { problemOf } from './start-checks.ts';
import { onStopSignals, stopSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';
import { withArchive } from './with-archive.ts';

/** The hosts of the venue's REST API, of its sockets, of Gamma and of its feed of prices; below --url there are both of the first two, and /rtds. */
const VENUE = {
  rest: 'https://clob.polymarket.com',
  sockets: 'https://ws-subscriptions-clob.polymarket.com',
  gamma: 'https://gamma-api.polymarket.com',
  prices: 'wss://ws-live-data.polymarket.com',
};
const STATUS_MS = 1000;
const RETAIN_LOOK_MS = 60_000;
const SOCKETS_MAX = 8;
/**
 * Memory that frames have left is taken again a moment later: to give it back meanwhile takes half of the processor time of the process
 * that receives them. So that it keeps little, it collects garbage as on a machine with 40 MB, and works without the engine's last compiler.
 */
const ENGINE = { MIMALLOC_PURGE_DELAY: '-1', BUN_JSC_forceRAMSize: '40000000', BUN_JSC_useFTLJIT: '0' };
/** The page cache of the process that stores is small: it writes to the ends of a few series. */
const CACHE_BYTES = 4 * 1024 * 1024;
const SEAL_MS = 2 * UNIT_MS.d!;
const durationOf = durationFrom(0, 'It must be a duration like 90s, 15m or 2h.');
const ageOfDays = durationFrom(UNIT_MS.d!, 'It must be an age of a day or more, like 90d.');

type RecordOptions = OptionsOf<typeof declared>;

/** `bookreel record` is `bookreel record start`. */
export function recordCommand(terminal: Terminal): CommandUnknownOpts {
  const start = startCommand(terminal);
  const command = programCommand('record')
    .description("record the venue's markets: the archive fills itself")
    .configureHelp({ visibleOptions: () => start.createHelp().visibleOptions(start) })
    .addCommand(start, { isDefault: true })
    .addCommand(recordStatusCommand(terminal))
    .addCommand(storeCommand(terminal), { hidden: true })
    .addHelpText('after', helpOf('record'));
  refuseOtherVerbs(command, start);
  return command;
}

function declared() {
  const command = programCommand('start')
    .description('record until it is stopped; the default command')
    .option('--coin <list>', 'only these coins, like btc,eth', coins)
    .option('--tf <list>', `only these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .addOption(
      new Option('--ahead <time>', 'ask for the market of a window this long before it')
        .argParser(durationOf)
        .default(15 * UNIT_MS.m!, '15m'),
    )
    .addOption(
      new Option('--after <time>', 'how long --once waits for the winner')
        .argParser(durationOf)
        .default(2 * UNIT_MS.m!, '2m'),
    )
    .option('--once <slug>', 'record the window of this market, and end')
    .option('--prices', "record the coins' prices too")
    .addOption(
      new Option('--raw <what>', 'keep or drop the journal, or how long to keep it (7d)')
        .default('keep')
        .argParser(rawOf),
    )
    .addOption(
      new Option('--seal <age>', 'seal markets that ended this long ago, or off')
        .default(SEAL_MS, '2d')
        .argParser(ageOrOff),
    )
    .option('--keep <age>', 'delete markets of all coins that are older, like 90d', ageOfDays)
    .option('--sockets <number>', 'sockets that bring each asset', integerFrom(1, SOCKETS_MAX), 2)
    .option('--url <base>', "the venue's address", baseOf, VENUE.rest)
    .option('--gamma-url <base>', "Gamma's address", baseOf, VENUE.gamma);
  return addSettings(command, 'diskFloor', 'logLevel').addHelpText('after', helpOf('record start'));
}

function helpOf(words: string): string {
  return `
Finds the windows of all coins and timeframes, subscribes their books on two
sockets, and writes every frame to the journal in the data directory; from it
the archive is made. Where messages are missing it writes a gap. Servers and
imports may use the same data meanwhile; 'bookreel record status' says how it
goes. SIGTERM or SIGINT stops it, and loses nothing that had arrived.

It seals markets as 'bookreel seal' does. --keep deletes markets of all coins,
imported ones too, a day (UTC) at a time, as 'bookreel delete --before' does.

--once ends with 0 if the window was recorded without gaps, else with 1. See
'bookreel manual recording'.

Examples:
  $ bookreel ${words}
  $ bookreel ${words} --coin btc,eth --tf 5m,15m --raw 7d --keep 90d
  $ bookreel ${words} --once btc-updown-5m-1776323400`;
}

function startCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    await record(terminal, command.optsWithGlobals());
  });
}

function declaredStore() {
  return addSettings(programCommand('store'), 'diskFloor')
    .description('store the journal; for the recorder only')
    .option('--seal <age>', 'see record start', durationOf)
    .option('--keep <age>', 'see record start', durationOf)
    .addHelpText('after', examples('record store'));
}

/** Stores the journal for the recorder that started this process, and keeps the archive in order. */
function storeCommand(terminal: Terminal): CommandUnknownOpts {
  return declaredStore().action(async (_, command) => {
    const options = command.optsWithGlobals();
    const { data } = options;
    // A terminal's Ctrl-C reaches this process too: it ends with its input.
    onStopSignals(
      () => undefined,
      () => undefined,
    );
    await withArchive(terminal, { data }, { create: true }, async (archive) => {
      archive.database.limitCache(CACHE_BYTES);
      const follower = new JournalFollower(data, importLines(archive, terminal.clock));
      const notes: string[] = [];
      using upkeep = upkeepOf(terminal, options, archive, (line) => void notes.push(line));
      await storeForParent(
        process.stdin,
        {
          store: (until, isLast) => follower.store(until, isLast),
          rest: () => upkeep.turn(),
          takeNotes: () => notes.splice(0),
        },
        (line) => terminal.out(`${line}\n`),
      );
    });
  });
}

function upkeepOf(
  terminal: Terminal,
  { data, seal, keep, diskFloor }: OptionsOf<typeof declaredStore>,
  archive: Archive,
  warn: (line: string) => void,
): Upkeep {
  return new Upkeep(archive, {
    sealMs: seal,
    keepMs: keep,
    clock: terminal.clock,
    monotonicMs: () => performance.now(),
    hasRoom: () => lowDisk(data, diskFloor) === undefined,
    onDeleted: ({ markets, records, coinPrices }, beforeMs) => {
      const coins = archive.database.read(() => archive.recordedCoins.symbols()).join();
      const [problem] = problemOf(() => auditDeletion(terminal, data, { coins, markets, records, coinPrices }));
      const day = formatInstant(beforeMs).slice(0, 10);
      const unaudited = problem === undefined ? '' : `; the audit has no entry of this: ${problem}`;
      warn(`deleted ${countText(markets, 'market')} that ended before ${day}, as --keep says${unaudited}`);
    },
    warn,
  });
}

async function record(terminal: Terminal, options: RecordOptions): Promise<void> {
  terminal.needVariables?.(ENGINE);
  const { data, once } = options;
  refuseUnknownCoins(options.coin ?? [], [], 'invalid-parameter');
  const window = once === undefined ? undefined : windowOfSlug(once, terminal.clock());
  if (once !== undefined && (window === undefined || !isWindowStart(window.timeframe, window.startMs))) {
    throw new DomainError('invalid-parameter', `'${once}' is not the slug of a window, like btc-updown-5m-1776323400`);
  }
  if (window !== undefined && window.endMs <= terminal.clock()) {
    throw new DomainError(
      'invalid-parameter',
      `the window of '${once}' is over: name one that is running, or is to come`,
    );
  }
  // Creates the archive, so that the process that stores finds one.
  await withArchive(terminal, options, { create: true }, () => undefined);
  const lock = ServeLock.take(data, 'record');
  await using log = openLog(terminal, options.logLevel);
  using storing = new StoringProcess(storeArguments(options), log.warn);
  const stopped = stopSignals().first;
  let outcome: Outcome;
  do outcome = await recordOnce(terminal, options, { log, storing, stopped });
  while (outcome.ended === 'restart');
  lock.release();
  if (outcome.problem !== null || !outcome.isStored) throw new ExitWith(EXIT.failure);
  if (once !== undefined) {
    const lack = await withArchive(terminal, options, { create: false }, (archive) => lackOf(archive, once));
    if (lack === undefined) return;
    terminal.err(`${lack}\n`);
    throw new ExitWith(EXIT.failure);
  }
}

interface Outcome {
  readonly ended: 'over' | 'failed' | 'restart' | 'stopped';
  readonly problem: string | null;
  readonly isStored: boolean;
}

interface RecordingParts {
  readonly log: Log;
  readonly storing: StoringProcess;
  /** Settles with the first signal to stop. */
  readonly stopped: Promise<void>;
}

/** Records until a signal, or until the recorder ends. */
async function recordOnce(
  terminal: Terminal,
  options: RecordOptions,
  { log, storing, stopped }: RecordingParts,
): Promise<Outcome> {
  const { data } = options;
  const clock = new AnchoredClock(() => performance.now(), terminal.clock);
  const recorder = new Recorder({
    ...{ data, clock, connect: connectWebSocket, ask: askByFetch, store: storing.store, log },
    ...addressesOf(options),
    coins: options.coin ?? Object.keys(COIN_ALIASES),
    timeframes: options.tf ?? TIMEFRAMES,
    aheadMs: options.ahead,
    afterMs: options.after,
    once: options.once?.toLowerCase(),
    sockets: options.sockets,
    keepMs: options.keep,
    disk: () => ({ freeBytes: freeBytes(data), floorBytes: options.diskFloor.bytes }),
    before: beforeOf(data, terminal.clock()),
  });
  const write = () => warned(log, 'recorder.json', () => writeRecorderStatus(data, recorder.status()));
  const follower = new JournalFollower(data, () => Promise.reject(new Error('this process does not store')));
  const timers = [
    setInterval(write, STATUS_MS),
    setInterval(
      () => warned(log, 'the journal', () => retain(follower, options.raw, terminal.clock())),
      RETAIN_LOOK_MS,
    ),
  ];
  recorder.start();
  log.info(`recording ${(options.coin ?? ['all coins']).join(', ')} into '${data}'`);
  const ended = await Promise.race([stopped.then(() => 'stopped' as const), recorder.ended]);
  log.info(ended === 'restart' ? 'starting again with the new time' : 'stopping: storing what has arrived');
  const isStored = await recorder.stop();
  for (const timer of timers) clearInterval(timer);
  write();
  return { ended, problem: recorder.status().problem, isStored };
}

/** `--once` leaves the archive as it is but for its window. */
function storeArguments({ data, seal, keep, diskFloor, once }: RecordOptions): string[] {
  const ages = { seal: seal === 'off' ? undefined : seal, keep };
  const given = Object.entries(once === undefined ? ages : {}).filter(([, ms]) => ms !== undefined);
  return [
    '--data',
    data,
    '--disk-floor',
    diskFloor.text,
    ...given.flatMap(([name, ms]) => [`--${name}`, `${Math.ceil(ms! / 1000)}s`]),
  ];
}

/** Does work on a file that recording does not depend on. An error of the system is logged. */
function warned(log: Log, name: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    log.warn(`${name}: ${systemSentence(error, 'written')}`);
  }
}

/** The addresses of the venue, or those below --url if that names another one. */
function addressesOf({ url, gammaUrl, prices }: RecordOptions) {
  const isVenue = url === VENUE.rest;
  return {
    url,
    gammaUrl,
    socketUrl: isVenue ? VENUE.sockets : url,
    pricesUrl: prices !== true ? undefined : isVenue ? VENUE.prices : `${url.replace(/^http/, 'ws')}/rtds`,
  };
}

function beforeOf(data: string, nowMs: number) {
  const reading = new RecorderFile(data).reading(nowMs);
  return reading.state === 'stopped' || reading.state === 'running' ? reading.status : undefined;
}

function retain(follower: JournalFollower, raw: RecordOptions['raw'], nowMs: number): void {
  if (raw !== 'keep') follower.deleteBefore(raw === 'drop' ? nowMs : nowMs - raw);
}

/** Why the window of a slug is not recorded as a whole, as one sentence without its end; undefined if books of both outcomes are, without gaps. */
export function lackOf(archive: Archive, slug: string): string | undefined {
  const market = archive.markets.findBySlug(slug);
  if (market === undefined) return `the market ${slug} was not recorded`;
  const gaps = [...archive.gaps.within(market.key, market.startMs, market.endMs)];
  if (gaps.length > 0) return `the market ${slug} has ${countText(gaps.length, 'gap')}`;
  const without = OUTCOMES.filter((outcome) => archive.snapshots.nearest(market, outcome, 0) === undefined);
  return without.length === 0 ? undefined : `no book of ${without.join(' and ')} of the market ${slug} was recorded`;
}

function ageOrOff(text: string): 'off' | number {
  return text === 'off' ? text : durationOf(text);
}

function rawOf(text: string): 'keep' | 'drop' | number {
  const ms = parseDuration(text);
  if (text === 'keep' || text === 'drop') return text;
  if (ms === undefined) throw new InvalidArgumentError('It must be keep, drop, or a duration like 7d.');
  return ms;
}

function baseOf(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError('It must be an address that begins with http:// or https://.');
  }
  return text.replace(/\/+$/, '');
}
