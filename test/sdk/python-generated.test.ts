import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../../src/cli/openapi.ts';
import { pythonWheel } from '../../src/sdk/python/build.ts';
import { type ApiDocument, generated } from '../../src/sdk/python/generate.ts';

const PACKAGE = join(import.meta.dir, '..', '..', 'src', 'sdk', 'python', 'bookreel');
const sourceOf = (name: string) => readFileSync(join(PACKAGE, name), 'utf8');

test('The types, errors and methods of the Python package are those of the API documents, and its two clients are one: `make types` writes them.', async () => {
  const documents = [await openApiDocument('0.0.0', false), await openApiDocument('0.0.0', true)] as ApiDocument[];
  const files = generated(documents, sourceOf('_async.py'));
  expect(Object.keys(files)).toContain('_sync.py');
  for (const [name, text] of Object.entries(files)) expect(sourceOf(name), name).toBe(text);
});

test('The wheel of a version has the same bytes each time.', () => {
  const { name, bytes } = pythonWheel('1.2.3');
  expect(name).toBe('bookreel-1.2.3-py3-none-any.whl');
  expect(Buffer.compare(bytes, pythonWheel('1.2.3').bytes)).toBe(0);
});
