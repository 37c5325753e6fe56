/** One unit of the input: a line, a row, or a message of a frame. `RecordSink.item` creates it. */
export interface SourceItem {
  /** Line, or row of a Parquet file; counted from 1. */
  readonly line: number;
}
