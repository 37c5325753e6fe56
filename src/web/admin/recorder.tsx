import { dirname } from 'node:path';
import type { ComponentChildren } from 'preact';
import { Value } from 'typebox/value';
import { countText } from '../../domain/count-text.ts';
import { lengthText } from '../../domain/duration.ts';
import { type InstantMs, timeText } from '../../domain/instant.ts';
import { NodeStatus, type SeenNode } from '../../domain/node-status.ts';
import { LAG_MS_MAX, type RecorderProblem, recorderProblems, storingLagMs } from '../../domain/recorder-problems.ts';
import type { RecorderReading, RecorderStatus } from '../../domain/recorder-status.ts';
import { Facts } from '../../http/pages/facts.tsx';
import { parsedJson } from '../../record/fields.ts';
import { archiveSizes } from '../../store/archive-sizes.ts';
import type { Node } from '../../store/nodes.ts';
import { RecorderFile } from '../../store/recorder-file.ts';
import { serverStatus } from '../../store/server-file.ts';
import { windowOfSlug } from '../../venue/slug.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { errorSentence } from '../posted-form.ts';
import { processColumns } from '../process-table.ts';
import {
  archiveFacts,
  GAP_COLUMNS,
  MISSED_COLUMNS,
  recorderFacts,
  recorderLooks,
  recorderSentence,
  SOCKET_COLUMNS,
  WINDOW_COLUMNS,
} from '../recorder-tables.ts';
import { type Column, Table, type TableContent } from '../table.tsx';
import { bytesText, numberText } from '../texts.ts';
import { Time } from '../time.tsx';
import { Figure } from '../usage/usage-tables.tsx';

export const RECORDER_PATH = '/admin/recorder';
const REFRESH_SECONDS = 10;
/** Nodes that have not reported for this time are left out. */
const NODES_MS = 86_400_000;

/** GET /admin/recorder?refresh. With it the browser asks again by itself: nobody's reading is interrupted unless they ask for it. */
export function recorderPage({ archive, service, nowMs }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const now = nowMs();
  const directory = dirname(archive.database.path);
  const reading = new RecorderFile(directory).reading(now);
  const server = serverStatus(directory);
  const problems = recorderProblems(reading, now);
  const known = seenNodes(service.activity.nodes.list(now - NODES_MS));
  const isLive = query.has('refresh');
  const page = personPage(
    person,
    {
      title: 'Recorder',
      path: RECORDER_PATH,
      action: (
        <a class="button" href={isLive ? RECORDER_PATH : `${RECORDER_PATH}?refresh`}>
          {isLive ? 'Stop refreshing' : 'Start refreshing'}
        </a>
      ),
    },
    <>
      <Headline reading={reading} problems={problems} />
      <p class="quiet small">
        As of <Time ms={reading.status?.writtenMs ?? now} />.{' '}
        {isLive && `This page refreshes every ${REFRESH_SECONDS} seconds. `}
        <a href="/docs/recording#the-state">What the words mean</a>
      </p>
      {reading.status !== undefined && <State status={reading.status} />}
      <h2>Archive</h2>
      <Facts facts={archiveFacts(archive.database.readShared(() => archiveSizes(archive)))} />
      {server !== undefined && (
        <Table label="Processes" isTitled columns={processColumns(server.processes)} rows={server.processes} empty="" />
      )}
      {known.length > 0 && <Table label="Nodes" isTitled columns={NODE_COLUMNS(now)} rows={known} empty="" />}
    </>,
  );
  return isLive ? { ...page, headers: { ...page.headers, refresh: String(REFRESH_SECONDS) } } : page;
}

interface HeadlineContent {
  readonly reading: RecorderReading;
  readonly problems: readonly RecorderProblem[];
}

/** The state of the recorder in a few words, a sentence about it, and its problems. */
function Headline({ reading, problems }: HeadlineContent) {
  const [look, text] = headlineOf(reading, problems.length);
  return (
    <section class={`card headline ${look}`} aria-label="State">
      <h2>{text}</h2>
      <p class="state" role="status">
        {problemText(recorderSentence(reading))}
      </p>
      {problems.length > 0 && (
        <div role="alert">
          <ol class="problems">
            {problems.map(({ problem, advice, losesData }) => (
              <li key={problem}>
                <span class={losesData ? 'badge bad' : 'badge warn'}>{losesData ? 'loses data' : 'warning'}</span>
                <div>
                  {problemText(problem)} {advice !== undefined && <span class="quiet">{problemText(advice)}</span>}
                </div>
              </li>
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}

function headlineOf({ state, status }: RecorderReading, problems: number): readonly [look: string, text: string] {
  if (state === 'never') return ['', 'Not set up'];
  if (status === undefined) return ['bad', 'State unknown'];
  if (state === 'stopped') return ['bad', `Not running since ${timeText(status.writtenMs)}`];
  if (problems === 0) return ['good', 'Recording'];
  if (status.problem !== null) return ['bad', `Stopping, with ${countText(problems, 'problem')}`];
  const lagMs = storingLagMs(status);
  const behind = lagMs > LAG_MS_MAX ? `, behind by ${lengthText(lagMs)}` : '';
  return ['bad', `Recording${behind}, with ${countText(problems, 'problem')}`];
}

/** The figures that show whether the recorder works. Others are folded. */
const FIGURES = ['Windows', 'Gaps', 'Hashes', 'Lag', 'Clock', 'Disk'];
/** These count what is good; their notes count what is bad. */
const COUNTS: ReadonlySet<string> = new Set(FIGURES.slice(0, 3));

/** Times are relative to the moment when the state was written. */
function State({ status }: { readonly status: RecorderStatus }) {
  const { sockets, windows, gaps, missed, writtenMs } = status;
  const looks = recorderLooks(status);
  const facts = recorderFacts(status);
  const others = Object.entries(facts).flatMap(([name, texts]) =>
    FIGURES.includes(name) ? [] : [[name, texts.filter(Boolean).join(', ')]],
  );
  const table = <Row,>(columns: readonly Column<Row>[], content: Omit<TableContent<Row>, 'columns'>) => (
    <Table
      {...content}
      isTitled
      columns={columns.map((column, index) => ({
        ...column,
        isRowHeading: index === 0,
        ...(column.heading === 'Window' && {
          cell: (row: Row) => <span title={String(column.cell(row))}>{windowName(String(column.cell(row)))}</span>,
        }),
        ...(column.heading === 'State' && { cell: (row: Row) => <StateText text={String(column.cell(row))} /> }),
      }))}
    />
  );
  return (
    <>
      <div class="cards">
        {FIGURES.map((name) => {
          const [value, note] = facts[name]!;
          const look = looks[name] || undefined;
          const isOfNote = COUNTS.has(name);
          return (
            <Figure
              key={name}
              {...{ name, value, note }}
              look={isOfNote ? undefined : look}
              noteLook={isOfNote ? look : undefined}
            />
          );
        })}
      </div>
      <details class="card fold">
        <summary>Frames, journal and other figures</summary>
        <Facts isCard={false} facts={Object.fromEntries(others)} />
      </details>
      {table(SOCKET_COLUMNS(writtenMs), { label: 'Sockets', rows: sockets, empty: 'No socket was opened yet.' })}
      {table(WINDOW_COLUMNS(writtenMs), {
        label: 'Windows',
        rows: windows,
        empty: 'No window is wanted yet.',
        isQuiet: ({ endMs }) => endMs < writtenMs,
      })}
      {table(GAP_COLUMNS(writtenMs), {
        label: 'Gaps of the last 24 hours',
        rows: gaps,
        empty: 'There are none.',
        isQuiet: ({ toMs }) => toMs !== null,
      })}
      {table(MISSED_COLUMNS, { label: 'Missed windows', rows: missed, empty: 'There are none.' })}
    </>
  );
}

/** The badges of sockets and windows, by the first word of their state. */
const LOOKS: Readonly<Record<string, string>> = {
  open: 'good',
  recording: 'good',
  resolved: 'good',
  waiting: 'warn',
  closed: 'warn',
  missed: 'bad',
};

/** `BTC 5m 15:20`, where the slug says it. */
function windowName(slug: string): string {
  const window = windowOfSlug(slug);
  if (window === undefined) return slug;
  const { symbol, timeframe, startMs } = window;
  return `${symbol.toUpperCase()} ${timeframe} ${timeText(startMs).slice(11, 16)}`;
}

/** A sentence with the names of windows in place of slugs, and with flags that are not broken and quoted commands as code. */
function problemText(message: string): ComponentChildren[] {
  const parts = errorSentence({ message }).split(/(--[\w-]+|'[a-z][\w -]+'|\b[a-z]+-updown-\w+-\d+)/);
  return parts.map((part) =>
    /^(?:--|')/.test(part) ? (
      <code class={part.startsWith('-') ? 'nowrap' : undefined}>{part.replaceAll("'", '')}</code>
    ) : (
      windowName(part)
    ),
  );
}

function StateText({ text }: { readonly text: string }) {
  return <span class={`badge ${LOOKS[/^\w+/.exec(text)?.[0] ?? ''] ?? ''}`.trim()}>{text}</span>;
}

/** The nodes whose reports this version understands. */
function seenNodes(nodes: readonly Node[]): SeenNode[] {
  return nodes.flatMap(({ seenMs, status }) => {
    const found = parsedJson(status);
    return Value.Check(NodeStatus, found) ? [{ ...found, seenMs }] : [];
  });
}

const NODE_COLUMNS = (nowMs: InstantMs): readonly Column<SeenNode>[] => [
  { heading: 'Node', isRowHeading: true, cell: ({ host, version }) => `${host} (${version})` },
  { heading: 'Reported', class: 'nowrap', cell: ({ seenMs }) => `${lengthText(Math.max(0, nowMs - seenMs))} ago` },
  { heading: 'Catalog', class: 'number', cell: ({ catalog }) => numberText(catalog.number) },
  {
    heading: 'End seen',
    class: 'nowrap',
    cell: ({ catalog: { ageMs } }) => (ageMs === null ? 'not yet' : `${lengthText(ageMs)} before`),
  },
  {
    heading: 'Cache',
    class: 'nowrap',
    cell: ({ cache }) =>
      `${bytesText(cache.bytes)} of ${bytesText(cache.bytesMax)}, ${numberText(cache.files)} markets`,
  },
  { heading: 'Hits', class: 'number', cell: ({ cache: { hits, misses } }) => hitsText(hits, misses) },
];

function hitsText(hits: number, misses: number): string {
  return hits === 0 ? '' : `${((100 * Math.max(0, hits - misses)) / hits).toFixed(1)} %`;
}
