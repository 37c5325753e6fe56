import type { RecordSink } from './record-sink.ts';
import type { RecordingFile } from './recording-file.ts';
import type { Sample } from './sample.ts';

/** Files whose lines can be read one by one: rows after a header, or JSON. */
export type LinesOf = 'csv' | 'json';

/** Reads recordings of one format. Each import has its own codec, which may keep state from file to file. */
export interface Codec {
  /** The name of the format in reports. */
  readonly format: string;
  /** Two cells of the manual's table of formats, as Markdown: the recordings, and the records that they become. */
  readonly input: string;
  readonly becomes: string;
  /** Set for formats of market records, whose files are read before all others. */
  readonly statesMarkets?: true;
  /** Returns true if a file that begins like this has market records among others: it is read before files that have none. */
  holdsMarkets?(sample: Sample): boolean;
  /** Set for formats of which no line depends on those before: their files are read while they grow. */
  readonly lines?: LinesOf;
  /** Set for formats that leave out records of unknown markets: their files are read after all others, which may state the markets. */
  readonly skipsUnknown?: true;
  /** Set for formats that are not text; other codecs are not asked about a file with the first bytes of a binary format. */
  readonly readsBinary?: true;
  /** Returns true if a file that begins like this has the format. */
  recognises(sample: Sample): boolean;
  /** Reads one file. Throws DomainError 'unreadable' where the file is damaged; the records before the damage count. */
  read(file: RecordingFile, sink: RecordSink): Promise<void>;
  /** Called after all files were read: adds the records that the codec still holds. */
  finish?(sink: RecordSink): void;
  /** Remarks about all files, one sentence each, for the report. */
  notes?(): readonly string[];
}
