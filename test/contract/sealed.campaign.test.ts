import { EXECUTABLE } from '../support/executable.ts';
import { openExecutable } from './executable-target.ts';
import { openInProcess } from './in-process-target.ts';
import { contractSuite } from './suite.ts';

/** Every part of the contract, on archives in which all markets are sealed after each import. */
contractSuite('the contract, in process, on sealed markets', (records) => {
  process.env.SEALED = '1';
  return openInProcess(records).finally(() => delete process.env.SEALED);
});
contractSuite('the contract, against the executable, on sealed markets', (records) =>
  openExecutable(records, EXECUTABLE, true),
);
