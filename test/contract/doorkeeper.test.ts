import { openExecutable } from './executable-target.ts';
import { contractSuite } from './suite.ts';

contractSuite('the contract, behind a doorkeeper', (records) => openExecutable(records, ['--doorkeeper', 'on']));
