import { expect, test } from 'bun:test';
import { agrees } from './agreement.ts';

const PAGE = '{"data":[{"id":"1","bids":[{"price":0.5,"size":1}]}],"nextCursor":"AAA"}';
const OTHER_CURSOR = PAGE.replace('AAA', 'BBBB');
const OTHER_ORDER = '{"nextCursor":"CC","data":[{"bids":[{"size":1.0,"price":5e-1}],"id":"1"}]}';
const OTHER_VALUE = PAGE.replace('0.5', '0.51');
const NO_CURSOR = PAGE.replace('"AAA"', 'null');

test('each degree of agreement accepts and refuses the right answers', () => {
  const all = [PAGE, OTHER_CURSOR, OTHER_ORDER.replace('"CC"', '"AAA"'), OTHER_VALUE, NO_CURSOR];
  const agreeing = (agreement: Parameters<typeof agrees>[2]) => all.map((answer) => agrees(PAGE, answer, agreement));
  expect(agreeing('bytes')).toEqual([true, false, false, false, false]);
  expect(agreeing('values')).toEqual([true, true, false, false, false]);
});
