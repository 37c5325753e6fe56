import { expect, test } from 'bun:test';
import { isRebuiltGap, lossCause, lossReason, nameOfFound, reasonWithCauses } from '../../src/domain/gap.ts';

const FOUND = 'the book of up changed in 3 levels, and no change was recorded';
const CAUSE = 'no socket was open (the venue closed it: 1006)';

test('a gap with causes is the one that was found, and takes each cause once', () => {
  const reason = reasonWithCauses(FOUND, [CAUSE, CAUSE]);
  expect(reason).toBe(`${FOUND}: ${CAUSE}`);
  expect(reasonWithCauses(reason, [CAUSE])).toBe(reason);
  expect(reasonWithCauses(reason, ['the recorder was not running'])).toBe(`${reason}: the recorder was not running`);
  const gap = { fromMs: 1, toMs: 2, reason };
  expect(nameOfFound(gap)).toBe(nameOfFound({ ...gap, reason: FOUND }));
  expect([isRebuiltGap(gap, 'up'), isRebuiltGap(gap, 'down')]).toEqual([true, false]);
});

test('the cause of a loss is that of its outcome', () => {
  const reason = lossReason(CAUSE, 'up');
  expect(lossCause(reason, 'up')).toBe(CAUSE);
  expect([lossCause(reason, 'down'), lossCause(FOUND, 'up')]).toEqual([undefined, undefined]);
});
