import { clockText } from '../../domain/clock-text.ts';
import { countText } from '../../domain/count-text.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { RecordedRange } from '../../domain/recorded-time.ts';
import { DAY_MS, HOUR_MS } from '../../domain/usage.ts';
import { COPY_SCRIPT, REPLAY_SCRIPT } from '../pages/assets.ts';
import { Commands } from '../pages/commands.tsx';
import { Copyable, CopyButton } from '../pages/copyable.tsx';
import { htmlDocument } from '../pages/document.tsx';
import { Facts } from '../pages/facts.tsx';
import { RECORDED_CELLS } from './recorded-path.ts';
import type { ShownReplay } from './replay-resource.ts';

/** Absolute URLs for bots; under /replays/{replay} the first six are those of any replay. */
export function addressesOf(origin: string) {
  const socket = origin.replace(/^http/, 'ws');
  return {
    socket: `${socket}/ws/market`,
    clob: `${origin}/clob`,
    gamma: `${origin}/gamma`,
    rtds: `${socket}/rtds`,
    binance: `${socket}/stream`,
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

/** A replay, and the part of its time that the slider has. */
type ReplayOnPage = ShownReplay & {
  readonly slider: RecordedRange & {
    /** Paths of `recordedPath`: the recorded markets of the part, those of the whole time, and the part in it. */
    readonly recorded: string;
    readonly all: string;
    readonly shown: string;
  };
};

/** Commands to copy: requests, and commands that move the clock. */
export interface ReplayCommands {
  readonly ask: readonly string[];
  readonly steer: readonly string[];
}

/** Speeds to choose; any other is typed. */
const SPEEDS = ['1', '10', '100', 'max'] as const;
/** The arrow keys move the clock by a minute, or by a second in a part of less than this. */
const SHORT_MS = 7_200_000;
/** Buttons that move the clock from where it is. */
const JUMPS = { '− 1 day': -DAY_MS, '− 1 hour': -HOUR_MS, '+ 1 hour': HOUR_MS, '+ 1 day': DAY_MS } as const;

interface ReplayHomeContent {
  readonly version: string;
  readonly description: string;
  readonly addresses: ReturnType<typeof addressesOf>;
  /** Undefined where keys are needed. */
  readonly shown: readonly ReplayOnPage[] | undefined;
  readonly commands: ReplayCommands;
}

/** `/` of a process that replays, for people. */
export function replayHomePage({ version, description, addresses, shown, commands }: ReplayHomeContent): string {
  const { socket, rtds, binance, clob, gamma, api, tardis } = addresses;
  const children = (
    <>
      <h1>bookreel replay</h1>
      <p class="quiet">{description}</p>
      {shown === undefined ? <KeyNote /> : <ReplayList shown={shown} />}
      <h2>Addresses for bots</h2>
      <section class="card">
        <Addresses
          named={{
            'Live books and trades': [socket, 'the venue’s market channel'],
            'Books, prices, orders': [clob, 'the venue’s CLOB interface'],
            'Markets and results': [gamma, 'the venue’s Gamma interface'],
            'Live prices of coins': [rtds, 'the venue’s RTDS socket'],
            'Trades and candles': [binance, 'Binance’s streams'],
            'All recordings': [api, 'this service’s API, as of the clock'],
          }}
        />
        {shown?.length !== 1 && (
          <p class="quiet small">
            They are those of the first replay. For another one, add <code>/replays/{'{replay}'}</code> before the path.
          </p>
        )}
      </section>
      <details class="card fold">
        <summary>Addresses of tardis-machine</summary>
        <p class="quiet small">They replay the whole archive, in the time range of each request.</p>
        <Addresses
          named={{
            HTTP: [tardis.replay, 'as the venue sends it'],
            'HTTP, normalized': [tardis.replayNormalized, 'in the format of tardis-machine'],
            WebSocket: [tardis.wsReplay, 'as the venue sends it'],
            'WebSocket, normalized': [tardis.wsReplayNormalized, 'in the format of tardis-machine'],
          }}
        />
      </details>
      <details class="card fold" open={!shown?.length}>
        <summary>Commands</summary>
        <h3>Send requests</h3>
        <Copyable id="requests" label="Copy" text={commands.ask.join('\n')} />
        <h3>Move the clock</h3>
        <p>
          All clients of a replay have the same clock. When it jumps, they start again with the books of the new
          instant.
          {shown === undefined && ' A key moves the clocks of the replays that it created.'}
        </p>
        <Copyable id="moves" label="Copy" text={commands.steer.join('\n')} />
      </details>
      <p class="quiet small">
        Version {version} · For monitors: <a href="/healthz">it runs</a>, <a href="/readyz">it is ready</a>
      </p>
    </>
  );
  return htmlDocument({
    title: 'bookreel replay',
    hasAccounts: false,
    children,
    scripts: shown === undefined ? [COPY_SCRIPT] : [COPY_SCRIPT, REPLAY_SCRIPT],
  });
}

/** Addresses by name, each with what it has. */
function Addresses({ named }: { readonly named: Readonly<Record<string, readonly [address: string, about: string]>> }) {
  const facts = Object.entries(named).map(([name, [address, about]]) => {
    const id = `address-${name.toLowerCase().replaceAll(/\W+/g, '-')}`;
    return [
      name,
      <>
        <code id={id}>{address}</code> <span class="quiet small">{about}</span>{' '}
        <CopyButton id={id} label={`Copy ${name}`} />
      </>,
    ] as const;
  });
  return <Facts isCard={false} facts={Object.fromEntries(facts)} />;
}

function KeyNote() {
  return (
    <>
      <h2>Get a key</h2>
      <p>
        Every request needs a key whose tier grants <code>replay</code>. The operator of this process creates one with{' '}
        <code>bookreel key create --tier pro</code>. The commands below read it from a file.
      </p>
      <Commands lines={['export BOOKREEL_KEY=br_live_…']} />
    </>
  );
}

function ReplayList({ shown }: { readonly shown: readonly ReplayOnPage[] }) {
  if (shown.length === 0) return <p>There is no replay: create one with the command below.</p>;
  return shown.map((replay) => <ReplayCard key={replay.id} replay={replay} isOne={shown.length === 1} />);
}

function ReplayCard({ replay, isOne }: { readonly replay: ReplayOnPage; readonly isOne: boolean }) {
  const { id, isFirst, state, now, from, to, speed, coins, markets, clients, pages, paper, accounts, slider } = replay;
  const { fromMs, toMs } = slider;
  const isPart = fromMs > Date.parse(from) || toMs < Date.parse(to);
  return (
    <section class="card" data-replay={`${id} ${state} ${speed}`}>
      <div class="row spread">
        <h2 class="row">
          {countText(markets, 'market')} of {coins.join(', ').toUpperCase()}
          {isFirst && !isOne && <span class="badge">has the addresses below</span>}
        </h2>
        <a href={isFirst ? '/view' : `/view?replay=${id}`}>See the markets</a>
      </div>
      <p class="price">
        <span class="hidden">Clock</span> <span data-fact="now">{clockText(now)}</span>
      </p>
      <div class="row steer">
        <span class={state === 'running' ? 'badge good' : 'badge'}>{state}</span>
        <Steer id={id} name="paused" value={String(state === 'running')} isPrimary>
          {state === 'running' ? 'Pause' : 'Resume'}
        </Steer>
        <Steer id={id} name="step" value="true">
          Step
        </Steer>
        <fieldset class="row">
          <legend>Speed</legend>
          <form class="tabs" method="post" action="/">
            <input type="hidden" name="replay" value={id} />
            {SPEEDS.map((preset) => (
              <button
                key={preset}
                type="submit"
                name="speed"
                value={preset}
                aria-label={`Speed ${preset}`}
                aria-pressed={preset === String(speed) ? 'true' : 'false'}
              >
                {preset === 'max' ? preset : `${preset}×`}
              </button>
            ))}
          </form>
          <details>
            <summary>{SPEEDS.some((preset) => preset === String(speed)) ? '' : `${speed}×, `}other…</summary>
            <Steer id={id} name="speed" label="Speed" field={String(speed)}>
              Set
            </Steer>
          </details>
        </fieldset>
      </div>
      <form class="time-bar" method="post" action="/">
        <input type="hidden" name="replay" value={id} />
        <span>{minuteText(fromMs)}</span>
        <input
          type="range"
          name="now"
          value={Date.parse(now)}
          aria-label={isPart ? 'Clock, in this part of the replay' : 'Clock, from the start to the end'}
          aria-valuetext={clockText(now)}
          min={fromMs}
          max={toMs}
          step={toMs - fromMs < SHORT_MS ? 1000 : 60_000}
        />
        <Marks title="Times of recorded markets" path={slider.recorded} {...{ fromMs, toMs }} />
        <span>{minuteText(toMs)}</span>
        {isPart && (
          <div class="whole">
            <span>Whole: {from.slice(0, 'YYYY-MM-DD'.length)}</span>
            <Marks
              title="Recordings of the whole replay, and the part that the slider has"
              path={slider.all}
              shown={slider.shown}
              fromMs={Date.parse(from)}
              toMs={Date.parse(to)}
            />
            <span>{to.slice(0, 'YYYY-MM-DD'.length)}</span>
          </div>
        )}
        <p>
          <span>recorded</span>
          {isPart && <span class="part">the part above</span>}
        </p>
        <noscript>
          <button class="button small" type="submit">
            Go there
          </button>
        </noscript>
      </form>
      <div class="row steer jumps">
        <form method="post" action="/">
          <input type="hidden" name="replay" value={id} />
          {Object.entries(JUMPS).map(([text, byMs]) => (
            <button key={byMs} class="button" type="submit" name="now" value={jumped(replay, byMs)} data-by={byMs}>
              {text}
            </button>
          ))}
          {['Previous', 'Next'].map((which) => (
            <button key={which} class="button" type="submit" name="recording" value={which.toLowerCase()}>
              {which} recording
            </button>
          ))}
        </form>
        <Steer id={id} name="now" label="Instant" field={now}>
          Go
        </Steer>
      </div>
      <Facts
        isCard={false}
        facts={{
          Clients: <span data-fact="clients">{clients}</span>,
          ...(paper && { Accounts: <code data-fact="accounts">{accounts.join('\n')}</code> }),
          'Traded now': (
            <ul id={isFirst ? 'traded' : undefined} data-fact="pages">
              {pages.length === 0 ? <li>none</li> : pages.map(PageLink)}
            </ul>
          ),
          'Replay ID': <code>{id}</code>,
        }}
      />
    </section>
  );
}

interface MarksContent {
  readonly title: string;
  readonly path: string;
  readonly shown?: string;
  /** The instants of its left and right edges; REPLAY_SCRIPT moves the clock to where it is clicked. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** Marks of recorded times, and of the part that the slider has. */
function Marks({ title, path, shown, fromMs, toMs }: MarksContent) {
  return (
    <svg
      role="img"
      viewBox={`0 0 ${RECORDED_CELLS} 1`}
      preserveAspectRatio="none"
      data-from={String(fromMs)}
      data-to={String(toMs)}
    >
      <title>{title}</title>
      <path d={path} />
      {shown !== undefined && <path class="shown" d={shown} />}
    </svg>
  );
}

/** `2026-04-16 07:10 UTC`. */
function minuteText(ms: InstantMs): string {
  return `${formatInstant(ms).slice(0, 16).replace('T', ' ')} UTC`;
}

/** The instant that is so far from the clock, within the replay. */
function jumped({ now, from, to }: ShownReplay, byMs: number): number {
  return Math.min(Math.max(Date.parse(now) + byMs, Date.parse(from)), Date.parse(to));
}

function PageLink({ href, name }: ShownReplay['pages'][number]) {
  return (
    <li key={href}>
      <a class="badge" href={href}>
        {name}
      </a>
    </li>
  );
}

interface SteerContent {
  readonly id: string;
  /** A field of the change of a clock, with its value or with a field that has one. */
  readonly name: string;
  readonly value?: string;
  readonly label?: string;
  readonly field?: string;
  readonly isPrimary?: boolean;
  readonly children: string;
}

/** A button that changes the clock of a replay. */
function Steer({ id, name, value, label, field, isPrimary = false, children }: SteerContent) {
  return (
    <form method="post" action="/">
      <input type="hidden" name="replay" value={id} />
      {field !== undefined && (
        <label>
          {label} <input class="input" name={name} value={field} size={Math.max(4, field.length)} required />
        </label>
      )}
      <button
        class={isPrimary ? 'button primary' : 'button'}
        type="submit"
        {...(value !== undefined && { name, value })}
      >
        {children}
      </button>
    </form>
  );
}
