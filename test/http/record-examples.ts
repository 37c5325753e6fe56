import { join } from 'node:path';
import { liveAnswers, recordsOf } from './openapi-answers.ts';

/** Sends the example requests of the API document again, and records the answers. */
const FILE = join(import.meta.dir, '..', '..', 'src', 'http', 'openapi', 'examples.json');

await Bun.write(FILE, `${JSON.stringify(recordsOf(await liveAnswers()))}\n`);
console.log(`${FILE} is written`);
