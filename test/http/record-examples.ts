import { join } from 'node:path';
import { liveAnswers, recordsOf } from './openapi-answers.ts';

/** Asks the requests of the document's examples again and keeps the answers. */
const FILE = join(import.meta.dir, '..', '..', 'src', 'http', 'openapi', 'examples.json');

await Bun.write(FILE, `${JSON.stringify(recordsOf(await liveAnswers()), null, 2)}\n`);
console.log(`${FILE} is written`);
