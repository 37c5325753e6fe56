import { IS_FULL } from '../support/campaign-size.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { openExecutable } from './executable-target.ts';
import { openInProcess } from './in-process-target.ts';
import { contractSuite, PARTS, type Part } from './suite.ts';

/** Every part of the contract, on archives in which all markets are sealed after each import. */
const open = (records: readonly object[]) => {
  process.env.SEALED = '1';
  return openInProcess(records).finally(() => delete process.env.SEALED);
};
// The script is the same in the executable.
const parts = (Object.keys(PARTS) as Part[]).filter((part) => part !== 'the script of the reference');
contractSuite('the contract, in process, on sealed markets', open, { parts });
/** The parts in which commands of the executable import and seal meanwhile; all others are the same in process. */
const COMMANDED: readonly Part[] = ['coins', 'time series', 'as of an instant', 'coverage', 'export', 'stream'];
contractSuite(
  'the contract, against the executable, on sealed markets',
  (records) => openExecutable(records, EXECUTABLE, true),
  IS_FULL ? {} : { parts: COMMANDED },
);
