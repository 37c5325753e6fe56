import { openInProcess } from './in-process-target.ts';
import { contractSuite } from './suite.ts';

contractSuite('the contract, in process', openInProcess);
