import { randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { Bucket } from './bucket.ts';

const LOCK = 'writer.json';
/** A writer that was killed is forgotten after this time, by the clock of the storage. */
const LEASE_MS = 120_000;

/**
 * The one writer of a folder of a bucket: an object that is written conditionally, and again and again while the writer runs. A process that was
 * stopped for longer than the lease may have lost it, and `hold` says so: what others see is written only between two calls of it.
 */
export class BucketWriter implements AsyncDisposable {
  readonly #bucket: Bucket;
  readonly #timer: NodeJS.Timeout;
  readonly #text: Uint8Array;
  #writing: Promise<boolean> = Promise.resolve(true);

  private constructor(bucket: Bucket, text: Uint8Array, leaseMs: number) {
    this.#bucket = bucket;
    this.#text = text;
    // A storage that does not answer is noticed by the work itself.
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), leaseMs / 4).unref();
  }

  /** Throws 'in-use' if another one writes, 'unavailable' if the storage ignores conditions: then nothing keeps two writers apart. */
  static async take(bucket: Bucket, leaseMs = LEASE_MS): Promise<BucketWriter> {
    const [text, other] = [claim(), claim()];
    const found = await bucket.get(LOCK);
    const isFree = found === undefined || found.bytes.length === 0 || found.ageMs >= leaseMs;
    const isOurs =
      isFree && (found === undefined ? await bucket.create(LOCK, text) : await bucket.replace(LOCK, text, found.tag));
    if (!isOurs) throw inUse(bucket, leaseMs);
    if (await bucket.create(LOCK, other)) {
      throw new DomainError(
        'unavailable',
        `'${bucket.address}' ignores conditions of writes (If-None-Match), so two backups could destroy one another: use a storage that has them`,
      );
    }
    return new BucketWriter(bucket, text, leaseMs);
  }

  /** Throws 'in-use' if another one has become the writer. */
  async hold(): Promise<void> {
    if (!(await this.#renew())) throw inUse(this.#bucket, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#renew(new Uint8Array()).catch(() => undefined);
  }

  /** One at a time. False: the object is another one's. */
  #renew(text = this.#text): Promise<boolean> {
    this.#writing = this.#writing
      .catch(() => true)
      .then(async () => {
        const found = await this.#bucket.get(LOCK);
        return found?.bytes.equals(this.#text) === true && (await this.#bucket.replace(LOCK, text, found.tag));
      });
    return this.#writing;
  }
}

function claim(): Uint8Array {
  return Buffer.from(`${JSON.stringify({ writer: randomBytes(16).toString('hex') })}\n`);
}

function inUse({ address }: Bucket, leaseMs: number): DomainError {
  const killed = leaseMs === 0 ? '' : `; one that was killed is forgotten after ${leaseMs / 1000} s`;
  return new DomainError(
    'in-use',
    `another backup is written to '${address}': run this again when it is done${killed}`,
  );
}
