import { join } from 'node:path';

const ROOT = join(import.meta.dir, '..', '..');
/** Where the tool stands; it is installed with the other outside judges. */
export const GENERATOR = join(ROOT, 'test', 'judges', 'node_modules', 'openapi-typescript', 'bin', 'cli.js');
const BIOME = join(ROOT, 'node_modules', '.bin', 'biome');

/** Where the types of the API's document are kept for clients. */
export const CLIENT_TYPES = join(import.meta.dir, 'openapi.ts');

/**
 * The types of an OpenAPI document as openapi-typescript writes them, formatted as everything here is. What the document
 * leaves empty is left out, and only `paths` and `components` are exported.
 */
export async function clientTypes(document: string): Promise<string> {
  const types = await piped([process.execPath, GENERATOR], document);
  const used = types
    .replace(/^export type (?:webhooks|\$defs) = Record<string, never>;\n/gm, '')
    .replace(/^export (?=interface operations )/m, '');
  return await piped([BIOME, 'format', '--stdin-file-path=openapi.ts'], used);
}

async function piped(command: readonly string[], input: string): Promise<string> {
  const process = Bun.spawn([...command], { cwd: ROOT, stdin: Buffer.from(input), stdout: 'pipe', stderr: 'pipe' });
  const [output, errors] = await Promise.all([
    new Response(process.stdout).text(),
    new Response(process.stderr).text(),
  ]);
  if ((await process.exited) !== 0) throw new Error(`${command.join(' ')}: ${errors}`);
  return output;
}

/** `bun test/examples/client-types.ts` makes them again. */
if (import.meta.main) {
  const main = join(ROOT, 'src', 'main.ts');
  await Bun.write(CLIENT_TYPES, await clientTypes(await piped([process.execPath, main, 'openapi'], '')));
}
