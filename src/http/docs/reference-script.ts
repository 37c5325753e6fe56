import scalarPath from '../../../node_modules/@scalar/api-reference/dist/browser/standalone.js' with { type: 'file' };
import type { ResponseSettings } from '../response/response.ts';
import { hashOf, StaticFile } from '../response/static-file.ts';
// @ts-expect-error TypeScript reads a module where Bun imports its text
import referenceStart from './reference-start.js' with { type: 'text' };

/** The script of the API reference: reference-start.js, then Scalar's 4.3 MB. The first request reads it. */
export class ReferenceScript {
  #read: Promise<{ readonly name: string; readonly file: StaticFile }> | undefined;

  /** `reference-HASH.js`. */
  async name(): Promise<string> {
    return (await this.#once()).name;
  }

  async answer(request: Request, set: ResponseSettings): Promise<Response> {
    return await (await this.#once()).file.answer(request, set);
  }

  #once() {
    this.#read ??= readScript();
    return this.#read;
  }
}

async function readScript() {
  const scalar = await Bun.file(scalarPath).arrayBuffer();
  const hash = hashOf(referenceStart, new Uint8Array(scalar));
  const file = new StaticFile('text/javascript', new Blob([referenceStart, scalar]), hash);
  return { name: `reference-${hash}.js`, file };
}
