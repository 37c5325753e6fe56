import { join } from 'node:path';
import { liveAnswers, recordsOf } from './openapi-answers.ts';

/** Sends the example requests of the API document again, and records the answers. */
const FILE = join(import.meta.dir, '..', '..', 'src', 'http', 'openapi', 'examples.json');
/** Random ids, a pattern for each kind, and ids of requests. */
const KINDS = [/key_[a-z2-7]{10}/g, /br_live_[a-z2-7]{6}/g, /quote_[0-9a-f]{16}/g, /pay_[0-9a-f]{16}/g];
const REQUEST_ID = /"requestId":"([0-9a-f-]{36})"/;

/** The records with the random ids of the earlier ones: a new recording then changes only what the answers state otherwise. */
function withEarlierIds(records: Readonly<Record<string, unknown>>, earlier: typeof records): string {
  const texts = [records, earlier].map((each) => JSON.stringify(each));
  const ids = new Map<string, string>();
  const keep = (now: string | undefined, before: string | undefined) => {
    if (now !== undefined && before !== undefined) ids.set(now, before);
  };
  for (const kind of KINDS) {
    const [now, before] = texts.map((text) => [...new Set(text.match(kind))]);
    for (const [index, id] of now!.entries()) keep(id, before![index]);
  }
  for (const name of Object.keys(records)) {
    const [now, before] = [records, earlier].map((each) => REQUEST_ID.exec(JSON.stringify(each[name] ?? null))?.[1]);
    keep(now, before);
  }
  return [...ids].reduce((text, [now, before]) => text.replaceAll(now, before), texts[0]!);
}

await Bun.write(FILE, `${withEarlierIds(recordsOf(await liveAnswers()), await Bun.file(FILE).json())}\n`);
console.log(`${FILE} is written`);
