import { expect } from 'bun:test';
import type { Client, Reply } from './client.ts';
import { QUESTIONS } from './questions.ts';

/** Headers of the connection and the request, not of the recordings. */
const OF_REQUEST = ['date', 'x-request-id', 'x-ratelimit-reset', 'x-ratelimit-remaining'];
const SERIES = /\/(?:snapshots|quotes|prices)(?:\?|$)/;

/** The parts of an answer in which two services with the same recordings may not differ. */
export function shown(path: string, { status, headers, bytes, text }: Reply) {
  const kept = Object.entries(Object.fromEntries(headers)).filter(([name]) => !OF_REQUEST.includes(name));
  const isText = /json|csv|text/.test(headers.get('content-type') ?? '');
  const body = isText ? text.replace(/"requestId":"[^"]*"/, '') : Buffer.from(bytes).toString('base64');
  return { path, status, headers: Object.fromEntries(kept), body };
}

/** Expects the same pages of two services for every series, each page with the cursor of the other service in turn. */
export async function expectSamePages(one: Client, other: Client): Promise<void> {
  let pages = 0;
  for (const path of QUESTIONS.filter((each) => SERIES.test(each) && !each.includes('limit=2'))) {
    const url = new URL(path, 'http://localhost');
    url.searchParams.set('limit', '3');
    for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
      if (cursor !== undefined) url.searchParams.set('cursor', cursor);
      const asked = `${url.pathname}${url.search}`;
      const [before, after] = await Promise.all([one, other].map((get) => get(asked)));
      expect(shown(asked, after!)).toEqual(shown(asked, before!));
      const [from] = [before, after].slice(pages % 2);
      cursor = from!.status === 200 ? (from!.json<{ nextCursor?: string | null }>().nextCursor ?? null) : null;
    }
  }
  expect(pages).toBeGreaterThan(30);
}
