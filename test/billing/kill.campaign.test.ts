import { setDefaultTimeout, test } from 'bun:test';
import { HAS_ANVIL } from './anvil.ts';
import { killWhileSettling } from './killed-payment.ts';

setDefaultTimeout(600_000);

test.skipIf(!HAS_ANVIL)('killed 100 times while settling, transfers on chain = grants (needs anvil)', async () => {
  await killWhileSettling(100);
});
