import type { RecordSink } from './record-sink.ts';
import type { RecordingFile } from './recording-file.ts';
import type { Sample } from './sample.ts';

/** How recordings of one format become records. One is made per import, so state may span files. */
export interface Codec {
  /** How reports call the format. */
  readonly format: string;
  /** For the manual's table of formats, as Markdown: which recordings these are, and which records they become. */
  readonly input: string;
  readonly becomes: string;
  /** Set for formats that state markets: their files are read before all others. */
  readonly statesMarkets?: true;
  recognises(sample: Sample): boolean;
  /** Reads one file. Throws DomainError 'unreadable' where it is damaged; what was taken in before counts. */
  read(file: RecordingFile, sink: RecordSink): Promise<void>;
  /** Called when every file was read, for codecs that hold records back. */
  finish?(sink: RecordSink): void;
  /** What is to be said about all that was read, one sentence each. */
  notes?(): readonly string[];
}
