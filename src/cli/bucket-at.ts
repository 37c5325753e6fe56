import { isLoopback } from '../domain/loopback.ts';
import { Bucket, type BucketOptions, bucketAccess } from '../store/bucket.ts';
import type { Terminal } from './terminal.ts';

/** Opens a bucket with the settings of AWS. Warns if its endpoint is not encrypted: then others can read `what`. */
export function bucketAt(
  { clock, err }: Pick<Terminal, 'clock' | 'err'>,
  address: string,
  what: string,
  options?: BucketOptions,
): Bucket {
  const access = bucketAccess(address, process.env);
  const { protocol, hostname, origin } = new URL(access.base);
  if (protocol === 'http:' && !isLoopback(hostname)) {
    err(
      `traffic to and from '${origin}' is not encrypted: anybody on the way can read ${what}; name an endpoint with https://\n`,
    );
  }
  return new Bucket(access, clock, options);
}
