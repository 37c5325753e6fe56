import { statfsSync } from 'node:fs';
import type { SettingValues } from '../config.ts';
import { Bucket, bucketAccess } from '../store/bucket.ts';
import { checkpointNumbers } from '../store/catalog-checkpoints.ts';
import { readNodeSecret } from './nodes.ts';
import { problemOf } from './start-checks.ts';

const ANSWER_MS = 5000;
const TIMES = { answerMs: ANSWER_MS, pauseMs: 100, tries: 2 };

/** Reports why a node cannot read its catalog or reach home, both of which this asks, and a cache that is larger than its disk. `isThere`: its data directory exists. */
export async function nodeFindings(home: string, values: SettingValues, isThere: boolean): Promise<string[]> {
  const { books, nodeSecretFile, data, cacheBytes } = values;
  const findings = books === undefined ? ['--home needs --books: it names the bucket of the catalog'] : [];
  try {
    const bucket = books && new Bucket(bucketAccess(books, process.env), Date.now, TIMES);
    if (bucket && (await checkpointNumbers(bucket)).length === 0) {
      findings.push(`'${books}' has no catalog: run 'bookreel publish' at home`);
    }
  } catch (error) {
    findings.push((error as Error).message);
  }
  if (nodeSecretFile === undefined) findings.push('--home needs --node-secret-file: home and its nodes share it');
  else if (problemOf(() => void readNodeSecret(nodeSecretFile)).length === 0) {
    findings.push(...(await homeFindings(home, readNodeSecret(nodeSecretFile))));
  }
  const { blocks, bsize } = isThere ? statfsSync(data) : { blocks: 1, bsize: Infinity };
  if (cacheBytes.bytes > blocks * bsize) {
    findings.push(`the disk of '${data}' is smaller than --cache-bytes ${cacheBytes.text}: lower that`);
  }
  return findings;
}

async function homeFindings(home: string, secret: string): Promise<string[]> {
  const ending = AbortSignal.timeout(ANSWER_MS);
  const authorization = `Node ${secret}`;
  try {
    const { status, body } = await fetch(`${home}/node/feed`, {
      headers: { authorization },
      redirect: 'manual',
      signal: ending,
    });
    void body?.cancel().catch(() => undefined);
    if (status === 200) return [];
    const why = {
      401: 'refuses the secret: it must be the same there',
      404: 'serves no nodes: it needs --node-secret-file',
    };
    return [`home at ${home} ${why[status as 401 | 404] ?? `answers with ${status}: see its log`}`];
  } catch {
    return [`home at ${home} is not reached: check that it runs, and the network between`];
  }
}
