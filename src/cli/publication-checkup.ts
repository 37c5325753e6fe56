import { countText } from '../domain/count-text.ts';
import { Bucket, bucketAccess } from '../store/bucket.ts';
import { LEASE_MS, PUBLISHER } from '../store/bucket-writer.ts';
import type { Unpublished } from '../store/unpublished.ts';

const TIMES = { answerMs: 5000, pauseMs: 100, tries: 2 };

/** Reports markets that wait for a publisher, unless the bucket says that one runs. */
export async function publicationFindings({ markets, address }: Unpublished): Promise<string[]> {
  const waiting = `${countText(markets, 'changed market')} of the archive ${markets === 1 ? 'is' : 'are'} not in '${address}'`;
  try {
    const lock = await new Bucket(bucketAccess(address, process.env), Date.now, TIMES).get(PUBLISHER.lock);
    if (lock !== undefined && lock.bytes.length > 0 && lock.ageMs < LEASE_MS) return [];
    return [`${waiting}, and no process publishes them: run 'bookreel publish --books ${address}', or 'serve' with it`];
  } catch (error) {
    return [`${waiting}: ${(error as Error).message}`];
  }
}
