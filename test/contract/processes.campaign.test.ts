import { EXECUTABLE } from '../support/executable.ts';
import { openExecutable } from './executable-target.ts';
import { contractSuite } from './suite.ts';

/** Every part of the contract, with requests that reach any of two processes. */
contractSuite('the contract, against two processes', (records) =>
  openExecutable(records, EXECUTABLE, false, ['--processes', '2']),
);
