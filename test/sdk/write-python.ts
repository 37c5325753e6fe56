// Generates the types, errors, methods and the synchronous client of the Python package again.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../../src/cli/openapi.ts';
import { type ApiDocument, generated } from '../../src/sdk/python/generate.ts';

const PACKAGE = join(import.meta.dir, '..', '..', 'src', 'sdk', 'python', 'bookreel');
const documents = [await openApiDocument('0.0.0', false), await openApiDocument('0.0.0', true)] as ApiDocument[];
for (const [name, text] of Object.entries(generated(documents, readFileSync(join(PACKAGE, '_async.py'), 'utf8')))) {
  writeFileSync(join(PACKAGE, name), text);
}
