import { openInProcess } from './in-process-target.ts';
import { contractSuite, PARTS, type Part } from './suite.ts';

// The script is the same in the executable, whose tests have this part.
const parts = (Object.keys(PARTS) as Part[]).filter((part) => part !== 'the script of the reference');
contractSuite('the contract, in process', openInProcess, { parts });
