import { test } from 'bun:test';
import { HAS_EXECUTABLE } from '../support/executable.ts';
import { openExecutable } from './executable-target.ts';
import { contractSuite } from './suite.ts';

const NAME = 'the contract, against the executable';

if (HAS_EXECUTABLE) contractSuite(NAME, openExecutable);
else test.skip(`${NAME} (needs make build)`, () => {});
