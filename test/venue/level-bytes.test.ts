import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { hashedLevels } from '../../src/venue/book-hash.ts';
import { EditableBook } from '../../src/venue/editable-book.ts';
import { LevelBytes } from '../../src/venue/level-bytes.ts';

test('the bytes of a book are those of its text, whatever book was written before', () => {
  const change = fc.record({
    isBid: fc.boolean(),
    cents: fc.integer({ min: 1, max: 99 }),
    size: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1e9 })),
  });
  const decoder = new TextDecoder();
  const textOf = (bytes: string | Uint8Array) => (typeof bytes === 'string' ? bytes : decoder.decode(bytes));
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 40 }), (moments) => {
      const levels = new LevelBytes();
      const book = new EditableBook();
      for (const changes of moments) {
        for (const { isBid, cents, size } of changes) book.set(isBid, cents / 100, size / 100);
        const { bids, asks, best } = levels.of(book);
        const expected = hashedLevels(book);
        expect(best).toEqual(expected.best);
        expect([textOf(bids), textOf(asks)]).toEqual([textOf(expected.bids), textOf(expected.asks)]);
      }
    }),
  );
});
