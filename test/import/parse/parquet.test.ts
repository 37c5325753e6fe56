import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ParquetFile } from '../../../src/import/parse/parquet.ts';
import { temporaryDirectory } from '../../support/archive.ts';

/**
 * One row, `asset_id` 11, and the columns `side` (text) and `fee` (int64), which are all null: Arrow writes an empty dictionary page for
 * them. Made with pyarrow 25.0.1: pq.write_table(table, file, compression=…, write_statistics=False, store_schema=False,
 * use_dictionary=['side', 'fee']).
 */
const NULL_COLUMNS = [
  [
    'zstd',
    [
      'UEFSMRUAFRgVKiwVAhUAFQYVBhwAAAAotS/9IAxhAAACAAAAAgECAAAAMTEVBBUAFRJMFQAVABIAACi1L/0gAAEAABUAFQ4V',
      'ICwVAhUQFQYVBhwAAAAotS/9IAc5AAACAAAAAgAAFQQVABUSTBUAFQASAAAotS/9IAABAAAVABUOFSAsFQIVEBUGFQYcAAAA',
      'KLUv/SAHOQAAAgAAAAIAABUEGUw1ABgGc2NoZW1hFQYAFQwlAhgIYXNzZXRfaWQlAEwcAAAAFQwlAhgEc2lkZSUATBwAAAAV',
      'BCUCGANmZWUAFgIZHBk8JgAcFQwZJQYAGRgIYXNzZXRfaWQVDBYCFj4WUCYISRwVABUAFQIAPBYEGQYZJgACAAAAJgAcFQwZ',
      'NQAGEBkYBHNpZGUVDBYCFlAWdCaGASZYKSwVBBUAFQIAFQAVEBUCADwWABkGGSYCAAAAACYAHBUEGTUABhAZGANmZWUVDBYC',
      'FlAWdCb6ASbMASksFQQVABUCABUAFRAVAgA8KQYZJgIAAAAAFt4BFgImCBa4AgAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNp',
      'b24gMjUuMC4xGTwcAAAcAAAcAAAAJQEAAFBBUjE=',
    ].join(''),
  ],
  [
    'gzip',
    [
      'UEFSMRUAFRgVPCwVAhUAFQYVBhwAAAAfiwgAAAAAAAIDY2JgYGBiZAKShoYAuvL3qQwAAAAVBBUAFShMFQAVABIAAB+LCAAA',
      'AAAAAgMDAAAAAAAAAAAAFQAVDhU2LBUCFRAVBhUGHAAAAB+LCAAAAAAAAgNjYmBgYGJgAAA5GncJBwAAABUEFQAVKEwVABUA',
      'EgAAH4sIAAAAAAACAwMAAAAAAAAAAAAVABUOFTYsFQIVEBUGFQYcAAAAH4sIAAAAAAACA2NiYGBgYmAAADkadwkHAAAAFQQZ',
      'TDUAGAZzY2hlbWEVBgAVDCUCGAhhc3NldF9pZCUATBwAAAAVDCUCGARzaWRlJQBMHAAAABUEJQIYA2ZlZQAWAhkcGTwmABwV',
      'DBklBgAZGAhhc3NldF9pZBUEFgIWPhZiJghJHBUAFQAVAgA8FgQZBhkmAAIAAAAmABwVDBk1AAYQGRgEc2lkZRUEFgIWUBag',
      'ASauASZqKSwVBBUAFQIAFQAVEBUCADwWABkGGSYCAAAAACYAHBUEGTUABhAZGANmZWUVBBYCFlAWoAEmzgImigIpLBUEFQAV',
      'AgAVABUQFQIAPCkGGSYCAAAAABbeARYCJggWogMAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI1LjAuMRk8HAAAHAAA',
      'HAAAACcBAABQQVIx',
    ].join(''),
  ],
] as const;

test.each(NULL_COLUMNS)('columns of Arrow that are all null are read from %s', async (_, base64) => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'nulls.parquet');
  writeFileSync(path, Buffer.from(base64, 'base64'));
  const file = await ParquetFile.open(path);
  const rows = await file.read({ start: 0, end: 1 }, ['asset_id', 'side', 'fee']);
  expect(rows).toEqual([{ asset_id: '11', side: null, fee: null }]);
});

/**
 * Rows whose list `bids` of groups with `price` has four prices, none, and four, in a data page of version 2. Arrow does not count the
 * empty list as a null. Made with pyarrow 25.0.1: pq.write_table(table, file, data_page_version='2.0', compression='NONE',
 * write_statistics=False, store_schema=False).
 */
const EMPTY_LIST = [
  'UEFSMRUEFYABFYABTBUQFQASAACamZmZmZm5P5qZmZmZmck/MzMzMzMz0z+amZmZmZnZPwAAAAAAAOA/MzMzMzMz4z9mZmZmZmbm',
  'P5qZmZmZmek/FQYVHhUeXBUSFQAVBhUQFQ4VBhIcAAAABc4BBSQZkgQAAAMDiMb6FQQZXDUAGAZzY2hlbWEVAgA1AhgEYmlkcxUC',
  'FQZMPAAAADUEGARsaXN0FQIANQIYB2VsZW1lbnQVAgAVCiUCGAVwcmljZQAWBhkcGRwmABwVChk1AAYQGUgEYmlkcwRsaXN0B2Vs',
  'ZW1lbnQFcHJpY2UVABYSFu4BFu4BJqgBJggpLBUEFQAVAgAVABUQFQIAPCkmBgwZVgACAAAQAAAAFu4BFgYmCBbuAQAoIHBhcnF1',
  'ZXQtY3BwLWFycm93IHZlcnNpb24gMjUuMC4xGRwcAAAA0gAAAFBBUjE=',
].join('');

test('an empty list in a data page of version 2 of Arrow is read', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'lists.parquet');
  writeFileSync(path, Buffer.from(EMPTY_LIST, 'base64'));
  const file = await ParquetFile.open(path);
  const rows = await file.read({ start: 0, end: 3 }, ['bids']);
  const lists = [[0.1, 0.2, 0.3, 0.4], [], [0.5, 0.6, 0.7, 0.8]];
  expect(rows).toEqual(lists.map((prices) => ({ bids: prices.map((price) => ({ price })) })));
});
