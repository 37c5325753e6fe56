import { openExecutable } from './executable-target.ts';
import { contractSuite } from './suite.ts';

contractSuite('the contract, against the executable', openExecutable);
