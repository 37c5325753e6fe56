import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { shellWord } from '../domain/shell-word.ts';
import type { FieldSummary } from '../import/inspection/field-tally.ts';
import { statedMapping } from '../import/inspection/fitting-mappings.ts';
import { inspectedContainer } from '../import/inspection/inspected-container.ts';
import type { InspectedTable } from '../import/inspection/inspected-table.ts';
import { type Inspection, inspect } from '../import/inspection/inspection.ts';
import { suggestedMapping } from '../import/inspection/suggested-mapping.ts';
import { tried } from '../import/inspection/tried-mapping.ts';
import { type Source, sourcesOf } from '../import/source.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printable, type Terminal } from './terminal.ts';

type InspectOptions = OptionsOf<typeof declared>;

/** A file that was found in a directory or a container, or why it cannot be inspected. */
type Found = Inspection | { readonly path: string; readonly error: string };

/** Members of a container that are inspected; the first ones. */
const MEMBERS_SHOWN = 50;
const FORMATS = { csv: 'CSV', json: 'JSON', sqlite: 'SQLite', parquet: 'Parquet' } as const;
const FIELD_COLUMNS: readonly Column<FieldSummary>[] = [
  { heading: 'FIELD', cell: ({ name }) => name },
  {
    heading: 'TYPE',
    cell: ({ types, isJson }) => (types.length === 0 ? '-' : `${isJson ? 'JSON: ' : ''}${types.join(' or ')}`),
    cut: 'end',
  },
  { heading: 'ROWS', cell: ({ count }) => count },
  { heading: 'SAMPLES', cell: ({ samples }) => samples.join('  '), cut: 'end' },
];
const FILE_COLUMNS: readonly Column<Found>[] = [
  { heading: 'FILE', cell: ({ path }) => path, cut: 'front' },
  { heading: 'FORMAT', cell: (file) => ('error' in file ? '' : formatText(file)) },
  { heading: 'ROWS', cell: (file) => ('error' in file ? '' : file.tables.map(rowCountText).join(', ')) },
  { heading: 'IMPORT', cell: (file) => ('error' in file ? file.error : howToImport(file)), cut: 'end' },
];

function declared() {
  return programCommand('inspect')
    .description('print what a file contains: its format, its fields, its times, and how to import it')
    .argument('<path>', 'a file, a container or a directory of recordings; - is standard input')
    .option('--table <name>', 'only this table of a SQLite file')
    .option('--mapping', 'print only a mapping to start from, as TOML')
    .addHelpText(
      'after',
      `
Nothing is stored. The first 100,000 rows of a table are read. Where no format
fits, the output ends with a mapping to start from: it states what the values
show. What they do not show, such as a unit or a zone, is a comment that says
what to state; 'bookreel manual mappings' describes all keys.

Examples:
  $ bookreel inspect ticks.csv.gz
  $ bookreel inspect books.db --table orderbook_snapshots --mapping > books.toml
  $ bookreel import books.db --map books.toml --dry-run`,
    );
}

export function inspectCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (path, _, command) => {
    const options = command.optsWithGlobals();
    const sources = sourcesOf([path]).filter(({ byContent }) => byContent !== true);
    const [first, ...others] = sources;
    if (first === undefined) {
      throw new DomainError('unreadable', `there is no file in '${path}': name a file, or another directory`);
    }
    if (!first.named || others.length > 0) await inspectAll(terminal, options, sources);
    else await inspectNamed(terminal, options, first);
  });
}

async function inspectNamed(terminal: Terminal, options: InspectOptions, source: Source): Promise<void> {
  using copies = new DisposableStack();
  const container = await inspectedContainer(source, copies);
  if (container === undefined) {
    inspectOne(terminal, options, await inspect(source));
    return;
  }
  const { sources, notes, problem } = container;
  const found: Found[] = [];
  for (const member of sources.slice(0, MEMBERS_SHOWN)) found.push(await foundIn(member));
  const isAlone = options.mapping === true || options.table !== undefined;
  if (!isAlone) {
    printFound(terminal, options, found);
    const more = sources.length - found.length;
    if (more > 0) terminal.err(`… and ${countText(more, 'more member')}\n`);
    for (const note of [...notes, ...(problem === undefined ? [] : [problem])]) terminal.err(`${printable(note)}\n`);
    if (options.json === true) return;
  }
  const first = found.find((file) => !('error' in file) && (file.recording ?? file.format) !== undefined);
  if (first === undefined || 'error' in first) {
    const sentence = `'${source.name}' has no member that is a recording or a table: unpack it, and look at its files`;
    throw new DomainError('unreadable', sentence);
  }
  if (!isAlone) terminal.out('\n');
  inspectOne(terminal, options, first);
}

function inspectOne(terminal: Terminal, options: InspectOptions, inspection: Inspection): void {
  const tables = selected(inspection, options.table);
  if (options.mapping === true) {
    terminal.out(mappingText(inspection, tables));
    return;
  }
  if (options.json === true) {
    terminal.out(json(documentOf({ ...inspection, tables })));
    return;
  }
  const { path, format, compression, recording } = inspection;
  const kind = [format === undefined ? (recording ?? 'not a recording') : FORMATS[format], compression];
  terminal.out(
    `${path === '-' ? 'standard input' : printable(path)}: ${kind.filter((word) => word !== undefined).join(', ')}\n`,
  );
  for (const found of tables) terminal.out(`\n${tableText(terminal, found)}`);
  terminal.out(`\n${importText({ ...inspection, tables })}`);
}

function selected({ path, format, tables }: Inspection, name: string | undefined): readonly InspectedTable[] {
  if (name === undefined) return tables;
  if (format !== 'sqlite') {
    throw new DomainError('invalid-parameter', `--table is for SQLite, and '${path}' is not: leave it out`);
  }
  const found = tables.filter((one) => one.name === name);
  if (found.length > 0) return found;
  const names = tables.map((one) => one.name).join(', ');
  throw new DomainError('invalid-parameter', `'${path}' has no table ${name}: it has ${names === '' ? 'none' : names}`);
}

function mappingText(inspection: Inspection, [first, ...others]: readonly InspectedTable[]): string {
  const { path } = inspection;
  if (first === undefined) {
    throw new DomainError(
      'unreadable',
      `'${path}' has no rows that a mapping could describe: inspect it without --mapping`,
    );
  }
  if (others.length === 0) return suggestedMapping(inspection, first);
  const names = [first, ...others].map(({ name }) => name).join(', ');
  throw new DomainError('invalid-parameter', `'${path}' has several tables: name one with --table (${names})`);
}

function tableText(terminal: Terminal, found: InspectedTable): string {
  const { name, rows, inspected, unreadable, problem, fields } = found;
  const read = rows === inspected ? '' : `, of which the first ${inspected} were read`;
  const count = rows === undefined ? `more than ${inspected} rows` : countText(rows, 'row');
  const heading = `${name === undefined ? '' : `table ${printable(name)}: `}${count}${rows === undefined ? '' : read}\n`;
  const refused =
    problem === undefined ? '' : `${countText(unreadable, 'row')} cannot be read, ${printable(problem)}\n`;
  const times = fields.flatMap(timeText).join('');
  return `${heading}${refused}${table(terminal, FIELD_COLUMNS, fields)}${times}`;
}

function timeText({ name, times }: FieldSummary): string[] {
  if (times === undefined) return [];
  const { unit, hasZone, from, to } = times;
  const how = unit === undefined ? (hasZone ? '' : ', without a zone') : `, as ${unit}`;
  return [`${printable(name)}: ${from} to ${to}${how}\n`];
}

function importText(inspection: Inspection): string {
  const { recording, tables } = inspection;
  if (recording !== undefined) return `'bookreel import' reads it as ${recording}\n`;
  if (tables.length === 0) return "no format fits: 'bookreel manual recordings' lists the formats\n";
  const texts = tables.map((found) => {
    const place = found.name === undefined ? '' : ` table ${printable(found.name)}`;
    const shipped = found.mappings.map((name) => shippedText(inspection, found, name, place));
    if (shipped.length > 0) return shipped.join('');
    const intro = `no format fits${place}; a mapping to start from (--mapping prints only this):`;
    return `${intro}\n\n${suggestedMapping(inspection, found)}`;
  });
  return texts.join('\n');
}

/** A command that works, or the keys that it lacks; and what the mapping makes of the first rows. */
function shippedText(inspection: Inspection, found: InspectedTable, name: string, place: string): string {
  const { toml, shown, open } = statedMapping(name, found.fields);
  const trial = open.length > 0 ? [] : (tried(toml, found, inspection)?.lines ?? []);
  const set = shown.map((text) => ` --set ${text}`).join('');
  const command = `bookreel import ${shellWord(inspection.importPath)} --map ${name}${set}`;
  const text =
    open.length === 0
      ? `the mapping ${name} fits${place}: ${command}`
      : `the mapping ${name} fits${place}, and leaves open ${open.join(', ')}: state each with --set KEY=TEXT after '${command}' ('bookreel manual mappings' describes it)`;
  return `${[text, ...trial].map(printable).join('\n')}\n`;
}

/** Each file of a directory, and each member of a container in it, in a row. */
async function inspectAll(terminal: Terminal, options: InspectOptions, sources: readonly Source[]): Promise<void> {
  if (options.mapping === true || options.table !== undefined) {
    throw new DomainError('invalid-parameter', '--mapping and --table are for one file: name a file');
  }
  const found: Found[] = [];
  for (const source of sources) found.push(...(await allFoundIn(source)));
  printFound(terminal, options, found);
}

function printFound(terminal: Terminal, options: InspectOptions, found: readonly Found[]): void {
  if (options.json === true) terminal.out(json(found.map((file) => ('error' in file ? file : documentOf(file)))));
  else terminal.out(table(terminal, FILE_COLUMNS, found));
}

/** A file, or the first members of a container. */
async function allFoundIn(source: Source): Promise<Found[]> {
  using copies = new DisposableStack();
  try {
    const container = await inspectedContainer(source, copies);
    if (container === undefined) return [await foundIn(source)];
    const found: Found[] = [];
    for (const member of container.sources.slice(0, MEMBERS_SHOWN)) found.push(await foundIn(member));
    return container.problem === undefined ? found : [...found, { path: source.name, error: container.problem }];
  } catch (error) {
    return [unreadable(source, error)];
  }
}

/** Inspects one file. The reason why it cannot be read becomes its row. */
async function foundIn(source: Source): Promise<Found> {
  try {
    return await inspect(source);
  } catch (error) {
    return unreadable(source, error);
  }
}

function unreadable({ name }: Source, error: unknown): Found {
  if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
  return { path: name, error: error.message };
}

function formatText({ format, compression }: Inspection): string {
  const words = [format === undefined ? '' : FORMATS[format], compression];
  return words.filter((word) => word !== undefined && word !== '').join(', ');
}

function rowCountText({ rows, inspected }: InspectedTable): string {
  return rows === undefined ? `> ${inspected}` : String(rows);
}

function howToImport({ recording, tables }: Inspection): string {
  if (recording !== undefined) return recording;
  const mapped = tables.flatMap(({ mappings }) => mappings.map((name) => `--map ${name}`));
  return mapped.length > 0 ? mapped.join(', ') : tables.length > 0 ? 'needs a mapping' : 'not a recording';
}

/** An inspection as JSON, with a mapping for each table. */
function documentOf(inspection: Inspection) {
  const { path, format, compression, recording, tables } = inspection;
  return {
    path,
    format: format ?? null,
    compression: compression ?? null,
    recording: recording ?? null,
    tables: tables.map((found) => ({
      name: found.name ?? null,
      rows: found.rows ?? null,
      inspected: found.inspected,
      unreadable: found.unreadable,
      problem: found.problem ?? null,
      fields: found.fields.map(({ name, types, isJson, count, samples, times }) => ({
        name,
        types,
        isJson,
        rows: count,
        samples,
        times: times === undefined ? null : { ...times, unit: times.unit ?? null },
      })),
      mappings: found.mappings,
      mapping: suggestedMapping(inspection, found),
    })),
  };
}
