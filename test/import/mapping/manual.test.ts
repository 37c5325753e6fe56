import { expect, test } from 'bun:test';
import { manualInserts } from '../../../src/import/manual-inserts.ts';
import { checkedMapping } from '../../../src/import/mapping/checked-mapping.ts';
import { SHIPPED_MAPPINGS } from '../../../src/import/mapping/shipped-mappings.ts';
import { manualPages } from '../../../src/manual/manual.ts';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { blocksOf } from '../../support/documented-commands.ts';
import { sampleMarket } from '../../support/sample-records.ts';
import { importMapped } from './mapped-import.ts';

const PAGE = manualPages(manualInserts()).find(({ name }) => name === 'mappings')!.text;
const BLOCKS = blocksOf(PAGE);
/** Mappings, each with the rows after it. */
const EXAMPLES = BLOCKS.flatMap(({ language, text }, index) => {
  const rows = BLOCKS[index + 1];
  return language === 'toml' && rows?.isAnswer === true ? [[text, rows] as const] : [];
});

test('the page has examples', () => {
  expect(EXAMPLES.map(([, { language }]) => language)).toEqual([
    'csv',
    'csv',
    'csv',
    'json',
    'json',
    'csv',
    'json',
    'json',
    'json',
  ]);
});

test.each(EXAMPLES)('the example is imported completely: %s', async (toml, { language, text }) => {
  using place = temporaryArchive();
  const name = language === 'csv' ? 'rows.csv' : 'btc-updown-5m-1776323400.jsonl';
  // Rows that name an asset need its market.
  await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '12'] })]);
  const { total, rejections } = await importMapped(place.archive, toml, text, name);
  expect(rejections).toEqual([]);
  // Rows that others refer to are ignored.
  expect(total.stored + total.ignored).toBe(text.trim().split('\n').length - (language === 'csv' ? 1 : 0));
});

test('the page has every mapping that comes with the program, and none of them guesses', () => {
  for (const [name, toml] of Object.entries(SHIPPED_MAPPINGS)) {
    expect(PAGE).toContain(toml);
    // What files of the layout do not say is left open, and its comment says how to state it.
    const stated = [...toml.matchAll(/--set ([\w.]+)=(\S+)/g)].reduce<object>(
      (tables, [, key, text]) => setIn(tables, key!.split('.'), text!),
      Bun.TOML.parse(toml),
    );
    expect(checkedMapping({ ...stated }, name).format).toBeString();
    if (toml.includes('--set '))
      expect(() => checkedMapping({ ...Bun.TOML.parse(toml) }, name)).toThrow('is not stated');
  }
});

function setIn(tables: object, [key = '', ...below]: readonly string[], text: string): object {
  const inner: unknown = Object.entries(tables).find(([name]) => name === key)?.[1];
  return { ...tables, [key]: below.length === 0 ? text : setIn(Object(inner), below, text) };
}
