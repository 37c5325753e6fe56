import { describe, expect, test } from 'bun:test';
import { DomainError } from '../../src/domain/errors.ts';
import type { Compression } from '../../src/export/compression.ts';
import { contentOf } from '../../src/export/file-name.ts';
import type { ExportFormat } from '../../src/export/format.ts';

type Requested = readonly [format?: ExportFormat | undefined, compression?: Compression];

const content = (path: string, [format, compression]: Requested) => contentOf(path, { format, compression });

describe('An export to a file has the format and the compression of its name.', () => {
  test.each<[path: string, requested: Requested, format: ExportFormat, compression: Compression | undefined]>([
    ['btc.parquet', [], 'parquet', undefined],
    ['x.ndjson', [], 'ndjson', undefined],
    ['x.ndjson.zst', [], 'ndjson', 'zstd'],
    ['x.csv.gz', [], 'csv', 'gzip'],
    ['x.sqlite', [], 'sqlite', undefined],
    ['x.db', [], 'sqlite', undefined],
    ['x.msgpack.zst', [], 'msgpack', 'zstd'],
    ['x.segments', [], 'segments', undefined],
    ['there/X.CSV.GZ', [], 'csv', 'gzip'],
    ['x.zst', [], 'ndjson', 'zstd'],
    ['x.zst', ['parquet'], 'parquet', 'zstd'],
    ['x.csv.gz', ['csv', 'gzip'], 'csv', 'gzip'],
    ['-', [], 'ndjson', undefined],
    ['-', ['parquet', 'zstd'], 'parquet', 'zstd'],
    ['archive', ['csv', 'gzip'], 'csv', 'gzip'],
    ['x.txt', ['sqlite'], 'sqlite', undefined],
    ['csv', [], 'ndjson', undefined],
    ['a.csv/archive', [], 'ndjson', undefined],
    ['x.constructor', [], 'ndjson', undefined],
  ])('%s, requested as %j, is %s compressed with %s', (path, requested, format, compression) => {
    expect(content(path, requested)).toEqual({ format, compression });
  });

  test.each<[path: string, requested: Requested, sentence: string]>([
    ['x.parquet', ['csv'], "the name 'x.parquet' says parquet, not csv: change the name or leave out --format"],
    ['x.csv.gz', ['ndjson'], "the name 'x.csv.gz' says csv, not ndjson: change the name or leave out --format"],
    [
      'x.csv.gz',
      [undefined, 'zstd'],
      "the name 'x.csv.gz' says gzip compression, not zstd: change the name or leave out --zstd",
    ],
    ['x.gz', ['csv', 'zstd'], "the name 'x.gz' says gzip compression, not zstd: change the name or leave out --zstd"],
    ['x.db', [undefined, 'gzip'], "the name 'x.db' says no compression, not gzip: change the name or leave out --gzip"],
  ])('A flag that contradicts the name of a file is refused. (%s, %j)', (path, requested, sentence) => {
    expect(() => content(path, requested)).toThrow(new DomainError('invalid-parameter', sentence));
  });
});
