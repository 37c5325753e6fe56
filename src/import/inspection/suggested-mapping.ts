import { knownCoin } from '../../domain/coin.ts';
import { OUTCOMES, parseOutcome } from '../../domain/outcome.ts';
import { meantTimeframe } from '../../domain/timeframe.ts';
import { windowOfSlug } from '../../venue/slug.ts';
import type { FieldSummary } from './field-tally.ts';
import { inspectedLists } from './inspected-list.ts';
import type { InspectedTable } from './inspected-table.ts';
import type { Inspection } from './inspection.ts';
import { referLines } from './suggested-reference.ts';
import {
  CENTS_MAX,
  levelWords,
  OUTCOME_WORD,
  outcomeIn,
  PRICE_UNITS,
  possibleSides,
  type Sides,
  wordsOf,
} from './suggested-sides.ts';
import { timeLines, windowEdge } from './suggested-time.ts';
import { type Lines, quoted } from './toml-lines.ts';
import { tried } from './tried-mapping.ts';

const CONDITION_ID = /^0x[0-9a-fA-F]{64}$/;
const TOKEN = /^\d{60,80}$/;
const SLUG_IN_NAME = /^(.*?)([a-z0-9]+-(?:updown-[0-9]+[mh]-[0-9]+|up-or-down-[a-z0-9-]+))(.*)$/;
/** Names of fields with the outcome that won, which is not that of a row. */
const WINNER = /win(?!dow)|result|resol|settle/i;
/** The least price of one outcome and the greatest of the other make 1 together, with this difference at most, or they have another unit. */
const DIFFERENCE_MAX = 0.1;
/** Books whose best bid is above their best ask: with more than this part of them, the sides are not what their names say. */
const CROSSED_MAX = 0.1;

/**
 * A mapping to start from, as TOML that can be parsed. It states what the values of the file show. What they do not show (a unit, a zone,
 * which outcome a word means) is a comment that says what to state, with the evidence: until then an import refuses the mapping and names
 * the key. It was tried on the first rows, and ends with comments that say what it makes of them, and what it would lose.
 */
export function suggestedMapping(inspection: Inspection, table: InspectedTable): string {
  const own = bestTrial(inspection, table);
  const lists = own.records > 0 || inspection.format !== 'json' ? [] : inspectedLists(table);
  const { text, lines } = lists.map((list) => bestTrial(inspection, list)).find(({ records }) => records > 0) ?? own;
  return lines.length === 0 ? text : textOf([text.trimEnd().split('\n'), lines.map((line) => `# ${oneLine(line)}`)]);
}

/** The first of the ways in which the rows of a table may have sides that makes records of them. */
function bestTrial(inspection: Inspection, table: InspectedTable) {
  const trials = possibleSides(table).map((sides) => {
    const inUnits = PRICE_UNITS.map((units) => trialOf(inspection, table, sides, units));
    return inUnits.reduce((best, other) => (other.kept > best.kept ? other : best));
  });
  return trials.find(({ records }) => records > 0) ?? trials[0]!;
}

/** A mapping with these sides, what its trial says, and the records that it makes; `kept`: without those that it would lose. */
function trialOf(inspection: Inspection, table: InspectedTable, sides: readonly Sides[], units: number) {
  const scale = 1 / units;
  const text = mappingOf(inspection, table, sides, scale);
  // The trial assumes the scale, and that yes is up.
  const assumed = sides.map(assumedOutcome);
  const stated = mappingOf(inspection, table, assumed, scale, true);
  const trial = tried({ ...Bun.TOML.parse(stated) }, table, inspection, (field) => text.includes(quoted(field)));
  const { records: made = 0, rejected = 0, crossed = 0, lines = [] } = trial ?? {};
  const isSure = units <= CENTS_MAX || (hasBothOutcomes(sides, table) && addsUp(stated, table, inspection));
  const records = crossed > CROSSED_MAX * made || !isSure ? 0 : made;
  return { text, lines, records, kept: isSure ? records - rejected : Number.NEGATIVE_INFINITY };
}

function assumedOutcome({ word, ...side }: Sides): Sides {
  return { ...side, word, outcome: word === undefined ? side.outcome : /^no$/i.test(word) ? 'down' : 'up' };
}

/** Returns true if the least and the greatest price of the first rows make 1, before any is taken from 1. */
function addsUp(toml: string, table: InspectedTable, inspection: Inspection): boolean {
  const trial = tried({ ...Bun.TOML.parse(toml.replaceAll(', complement = true', '')) }, table, inspection);
  const [least, greatest] = trial?.prices ?? [0, 0];
  return Math.abs(least + greatest - 1) <= DIFFERENCE_MAX;
}

/** Returns true if the first rows have prices of both outcomes: in fields of their own, or in rows with a word for each. */
function hasBothOutcomes(sides: readonly Sides[], { fields, firstRows }: InspectedTable): boolean {
  const stated = new Set(sides.map(({ outcome, word }) => outcome ?? word?.toLowerCase()));
  if (stated.size > 1 || sides.some(({ ask }) => ask.some((line) => line.includes('complement = true')))) return true;
  return fields.some(({ name }) => {
    const words = new Set(firstRows.map(({ fields: row }) => row[name]));
    return words.size === 2 && [...words].every((word) => OUTCOME_WORD.test(String(word))) && !WINNER.test(name);
  });
}

function mappingOf(
  { name, path, format }: Inspection,
  table: InspectedTable,
  sides: readonly Sides[],
  scale: number,
  isTrial = false,
): string {
  const fields = table.fields.filter(({ count }) => count > 0);
  const frames = fields.find(({ isFrames, isKalshi }) => isFrames || isKalshi);
  const json = fields.filter(({ isJson }) => isJson).map((field) => field.name);
  const rows = [
    ...(table.name === undefined ? [] : [`table = ${quoted(table.name)}`]),
    ...(table.list === undefined ? [] : [`list = ${quoted(table.list)}`]),
    ...(table.delimiter === undefined || table.delimiter === ',' ? [] : [`delimiter = ${quoted(table.delimiter)}`]),
    ...(json.length === 0 || frames !== undefined ? [] : [`json = [${json.map(quoted).join(', ')}]`]),
  ];
  const source: Lines[] = [
    [`format = ${quoted(format ?? 'csv')}`],
    ...(rows.length === 0 ? [] : [['[rows]', ...rows]]),
  ];
  const time = timeLines(table);
  if (frames !== undefined) {
    const own = ['[frames]', `field = ${quoted(frames.name)}`];
    if (!frames.isKalshi) return textOf([...source, own]);
    const arrival = ['[received]', ...time].map((line) => (line.startsWith('#') ? line : `# ${line}`));
    return textOf([
      ...source,
      [...own, 'venue = "kalshi"'],
      ['# State when rows were received, if they do: a snapshot has no time.', ...arrival],
    ]);
  }
  const records = recordLines(sides, scale, isTrial);
  const refer = format === 'json' ? referLines(table, marketFields(fields)) : [];
  const sections: Lines[] = [
    ...source,
    ...(refer.length === 0 ? [] : [refer]),
    ['[time]', ...time],
    [
      '[market]',
      ...marketLines(
        fields,
        { name, path },
        unitOf(fields, time),
        refer.length > 0 ? 0 : table.inspected - table.unreadable,
      ),
      ...winnerLines(fields),
    ],
    ...(records.hasOutcome
      ? []
      : [
          outcomeLines(
            fields.filter((field) => levelWords(field) === undefined && !tellsKinds(field, table)),
            name,
            isTrial,
          ),
        ]),
    ...records.sections,
  ];
  return textOf(sections);
}

function textOf(sections: readonly Lines[]): string {
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** How the only time of a row is written. */
type TimeUnit = 's' | 'ms' | 'us' | 'ns' | 'iso' | undefined;

function unitOf(fields: readonly FieldSummary[], [first]: Lines): TimeUnit {
  const field = fields.find(({ name }) => first === `field = ${quoted(name)}`);
  return field?.times === undefined ? undefined : (field.times.unit ?? 'iso');
}

/** The fields of which all texts that were kept pass the test. */
function fieldsOf(fields: readonly FieldSummary[], test: (text: string) => boolean): readonly FieldSummary[] {
  return fields.filter(({ samples, words }) => (words ?? samples).length > 0 && (words ?? samples).every(test));
}

/** The fields with condition ids or slugs. */
function marketFields(fields: readonly FieldSummary[]): {
  ids: readonly FieldSummary[];
  slugs: readonly FieldSummary[];
} {
  return {
    ids: fieldsOf(fields, (text) => CONDITION_ID.test(text) || /^0x[0-9a-fA-F]{38}…$/.test(text)),
    slugs: fieldsOf(fields, (text) => windowOfSlug(text, 0) !== undefined),
  };
}

function marketLines(
  fields: readonly FieldSummary[],
  file: Pick<Inspection, 'name' | 'path'>,
  timeUnit: TimeUnit,
  rows: number,
): Lines {
  const { ids, slugs } = marketFields(fields);
  const tokens = fieldsOf(fields, (text) => TOKEN.test(text) || /^\d{40}…$/.test(text));
  const stated = [
    ...oneOf('condition_id', ids, rows),
    ...oneOf('slug', slugs, rows),
    ...(tokens.length === 1 ? [`token = ${quoted(tokens[0]!.name)}`] : tokenLines(tokens)),
  ];
  if (stated.some((line) => !line.startsWith('#'))) return stated;
  const [, before = '', slug, after = ''] = SLUG_IN_NAME.exec(file.name) ?? [];
  if (slug !== undefined) {
    const pattern = `^${escaped(before)}([a-z0-9-]+)${escaped(after)}$`;
    return [...stated, `slug = { file_name = ${quoted(pattern)} }`];
  }
  const parts = file.path.split('/');
  const place = parts.findLastIndex((part) => windowOfSlug(part, 0) !== undefined);
  if (place >= 0) {
    const pattern = `([a-z0-9-]+)${'/[^/]+'.repeat(parts.length - 1 - place)}$`;
    return [...stated, `slug = { file_path = ${quoted(pattern)} }`];
  }
  const window = windowLines(fields, timeUnit);
  if (window.length > 0) return [...stated, ...window];
  return [
    ...stated,
    '# State what names the market: one of these, or coin with start and end.',
    '# condition_id = "field"',
    '# slug = "field"',
    '# token = "field"',
    "# slug = { file_name = '^(.+)\\.csv$' }",
    '# coin = { value = "btc" }',
    '# start = { field = "field", unit = "s" }',
    '# timeframe = { value = "5m" }',
    '# window = "time" # instead of start: the window in which the time of the row lies',
  ];
}

/** The market by its coin and window: two of start, end and timeframe. A time is stated if it is written like the time of rows. */
function windowLines(fields: readonly FieldSummary[], timeUnit: TimeUnit): Lines {
  const [coin] = fieldsOf(fields, (text) => knownCoin(text) !== undefined);
  const [timeframe] = fieldsOf(fields, (text) => meantTimeframe(text) !== undefined);
  const edges = (['start', 'end'] as const).flatMap((edge) => {
    const [only, ...others] = fields.filter(({ name, times }) => times !== undefined && windowEdge(name) === edge);
    if (only?.times === undefined || others.length > 0) return [];
    const { unit, from, to } = only.times;
    if ((unit ?? 'iso') === timeUnit) return [`${edge} = ${quoted(only.name)}`];
    const form = unit === undefined ? 'format = "iso"' : `unit = "${unit}"`;
    return [`# ${edge} = { field = ${quoted(only.name)}, ${form} } # ${from} to ${to}`];
  });
  const window = [...edges, ...(timeframe === undefined ? [] : [`timeframe = ${quoted(timeframe.name)}`])];
  return coin === undefined || edges.length === 0 || window.length < 2
    ? []
    : [`coin = ${quoted(coin.name)}`, ...window.slice(0, 2)];
}

/** The only field with such values in most rows that have one, or all as comments. */
function oneOf(key: string, found: readonly FieldSummary[], rows: number): Lines {
  // Rows about a change of markets may name other ones.
  const most = Math.max(...found.map(({ count }) => count));
  const fields = found.filter(({ count }) => count * 2 > most);
  const [first, ...others] = fields;
  if (first === undefined) return [];
  const own = `${key} = ${quoted(first.name)}`;
  if (others.length === 0 && (first.words?.length !== 1 || first.count >= rows)) return [own];
  if (others.length === 0) {
    const stated = `${key} = { field = ${quoted(first.name)}, default = ${quoted(first.words![0]!)} }`;
    return [own, `# Some rows do not state it. If they are of the same market: ${stated}`];
  }
  return fields.map(({ name }) => `# ${key} = ${quoted(name)}`);
}

function tokenLines(tokens: readonly FieldSummary[]): Lines {
  if (tokens.length === 0) return [];
  const names = tokens.map(({ name }) => quoted(name)).join(', ');
  const own = OUTCOMES.map((outcome) => tokens.filter(({ name }) => outcomeIn(name) === outcome));
  if (own.every(({ length }) => length === 1)) {
    return own.map(([token], index) => `${OUTCOMES[index]}_token = ${quoted(token!.name)}`);
  }
  return [`# ${names} have asset ids: state which is which.`, '# up_token = "field"', '# down_token = "field"'];
}

/** The only field with the outcome that won, whose texts show what they mean; or all such fields as comments. */
function winnerLines(fields: readonly FieldSummary[]): Lines {
  const found = fields.filter(({ name, words = [] }) => WINNER.test(name) && words.length > 0 && words.length <= 3);
  const clear = found.filter(({ words }) => isOutcomes(words));
  const [only] = clear;
  if (only !== undefined && clear.length === 1) {
    return [`winner = { field = ${quoted(only.name)}, ${outcomeTexts(only).join(', ')} }`];
  }
  return found.flatMap(({ name, words }) => [
    `# ${quoted(name)} may be the outcome that won: state which of ${words!.map(quoted).join(', ')} is up, and which is down.`,
    `# winner = { field = ${quoted(name)}, up = [${quoted(words![0]!)}], down = [${quoted(words![1] ?? 'down')}] }`,
  ]);
}

function isOutcomes(words: readonly string[] | undefined): boolean {
  return words !== undefined && words.length > 0 && words.length <= 2 && words.every((word) => parseOutcome(word));
}

/** The keys `up` and `down` of a field whose texts are outcomes. */
function outcomeTexts({ words = [] }: FieldSummary): Lines {
  return OUTCOMES.map((outcome) => {
    const own = words.filter((word) => parseOutcome(word) === outcome);
    return `${outcome} = [${(own.length === 0 ? [outcome] : own).map(quoted).join(', ')}]`;
  });
}

function outcomeLines(all: readonly FieldSummary[], fileName: string, isTrial: boolean): Lines {
  const fields = all.filter(({ name }) => !WINNER.test(name));
  const [only, ...others] = fields.filter(({ words }) => isOutcomes(words));
  if (only !== undefined && others.length === 0) {
    return ['[outcome]', `field = ${quoted(only.name)}`, ...outcomeTexts(only)];
  }
  const wordy = fields.filter(
    ({ words, types }) => words?.length === 2 && types[0] === 'text' && !/\d\d/.test(words.join(' ')),
  );
  const known = wordy.find(({ words }) => words!.every((word) => OUTCOME_WORD.test(word)));
  if (isTrial && known !== undefined) {
    const [down, up] = known.words!.toSorted().map(quoted);
    return ['[outcome]', `field = ${quoted(known.name)}`, `up = [${up}]`, `down = [${down}]`];
  }
  const [inName, ...othersInName] = wordsOf(fileName).filter((word) => parseOutcome(word) !== undefined);
  if (wordy.length === 0 && inName !== undefined && othersInName.length === 0) {
    const asWritten = (outcome: string) => {
      if (inName === inName.toLowerCase()) return outcome;
      const upper = outcome.toUpperCase();
      return inName === inName.toUpperCase() ? upper : `${upper[0]}${outcome.slice(1)}`;
    };
    const [up, down] = OUTCOMES.map(asWritten);
    const pattern = `(?:^|[^A-Za-z])(${up}|${down})(?:[^A-Za-z]|$)`;
    return ['[outcome]', `file_name = ${quoted(pattern)}`, `up = [${quoted(up!)}]`, `down = [${quoted(down!)}]`];
  }
  return [
    '# State the outcome of a row, unless market.token or the tables below do.',
    '# [outcome]',
    ...(wordy.length === 0
      ? ['# field = "field"', '# up = ["Up"]', '# down = ["Down"]']
      : wordy.flatMap(({ name, words }) => [
          `# field = ${quoted(name)}`,
          `# up = [${quoted(words![0]!)}]`,
          `# down = [${quoted(words![1]!)}]`,
        ])),
  ];
}

function recordLines(
  found: readonly Sides[],
  scale: number,
  isTrial: boolean,
): { readonly sections: readonly Lines[]; readonly hasOutcome: boolean } {
  if (found.length === 0) {
    return {
      hasOutcome: false,
      sections: [
        [
          '# State what a row has: [books], [quotes], [midpoints], [trades] or [coin_prices].',
          '# [books]',
          '# bids = { levels = "field", price = 0, size = 1 }',
          '# asks = { levels = "field", price = 0, size = 1 }',
        ],
      ],
    };
  }
  return {
    // A table has a name once: of several, the first.
    sections: found
      .filter((one, index) => found.findIndex((other) => headingOf(other) === headingOf(one)) === index)
      .map((side) => sectionOf(side, scale, isTrial)),
    hasOutcome: found.every(({ outcome, word }) => (outcome ?? word) !== undefined),
  };
}

function headingOf({ kind, outcome, word }: Sides): string {
  return `${kind}.${outcome ?? word ?? ''}`;
}

function sectionOf({ kind, outcome, word, bid, ask }: Sides, scale: number, isTrial: boolean): Lines {
  const table = outcome ?? (word === undefined ? undefined : 'up');
  const lines = [
    `[${kind}${table === undefined ? '' : `.${table}`}]`,
    ...[...bid, ...ask].map((line) => scaled(line, scale)),
  ];
  if (isTrial || (word === undefined && scale === 1)) return lines;
  return [
    ...(scale === 1
      ? []
      : [`# State the scale: ${scale === 0.01 ? `as cents (${scale})` : `with ${scale}`}, prices are from 0 to 1.`]),
    ...(scale >= 0.01 ? [] : ['# If sizes are multiplied too, state size_scale in books, or the scale of each size.']),
    ...(word === undefined ? [] : [`# State which outcome ${word} is, up or down:`]),
    ...lines.map((line) => (line.startsWith('#') ? line : `# ${line}`)),
  ];
}

/** The line of a side whose prices are multiplied. */
function scaled(line: string, scale: number): string {
  if (scale === 1) return line;
  return line
    .replace(/^(bids|asks) = \{(.*) \}/, `$1 = {$2, scale = ${scale} }`)
    .replace(/^(bid|ask) = \{ (field = ".*")(.*) \}$/, `$1 = { $2, scale = ${scale}$3 }`)
    .replace(/^(bid|ask|price) = (".*")$/, `$1 = { field = $2, scale = ${scale} }`);
}

/** Returns true for a field that tells kinds of rows apart: all rows of one of its two words have a field that no row of the other has. */
function tellsKinds({ name, words = [] }: FieldSummary, { fields, firstRows }: InspectedTable): boolean {
  const halves = words.map((word) => firstRows.filter(({ fields: row }) => row[name] === word));
  if (halves.length !== 2 || halves.some(({ length }) => length === 0)) return false;
  return fields.some((field) => {
    const counts = halves.map((rows) => rows.filter(({ fields: row }) => (row[field.name] ?? '') !== '').length);
    return counts.includes(0) && counts.some((count, index) => count === halves[index]!.length);
  });
}

/** A line of a comment: TOML refuses control characters in one. */
function oneLine(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}]/gu, ' ');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
