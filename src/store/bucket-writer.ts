import { randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Bucket } from './bucket.ts';

/** The name of a writer's lock object, and a sentence for errors: `another backup is written`. */
export interface WriterRole {
  readonly lock: string;
  readonly work: string;
}
const BACKUPS: WriterRole = { lock: 'writer.json', work: 'another backup is written' };
export const PUBLISHER: WriterRole = { lock: 'publisher.json', work: 'another process publishes' };
/** A writer that was killed is forgotten after this time, by the clock of the storage. */
export const LEASE_MS = 120_000;

/**
 * The one writer of a folder of a bucket: an object that is written conditionally, and again and again while the writer runs. A process that was
 * stopped for longer than the lease may have lost it, and `hold` says so: what others see is written only between two calls of it. One that lost it
 * never gets it back.
 */
export class BucketWriter implements AsyncDisposable {
  readonly #bucket: Bucket;
  readonly #clock: () => InstantMs;
  readonly #role: WriterRole;
  readonly #timer: NodeJS.Timeout;
  readonly #text: Uint8Array;
  readonly #renewMs: number;
  /** When the last renewal that succeeded began. */
  #renewedMs: InstantMs;
  #isLost = false;
  #writing: Promise<boolean> = Promise.resolve(true);

  private constructor(
    bucket: Bucket,
    clock: () => InstantMs,
    role: WriterRole,
    text: Uint8Array,
    leaseMs: number,
    takenMs: InstantMs,
  ) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#role = role;
    this.#text = text;
    this.#renewMs = leaseMs / 4;
    this.#renewedMs = takenMs;
    // A storage that does not answer is noticed by the work itself.
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), this.#renewMs).unref();
  }

  /** Throws 'in-use' if another one writes, 'unavailable' if the storage ignores conditions: then nothing keeps two writers apart. */
  static async take(bucket: Bucket, clock: () => InstantMs, leaseMs = LEASE_MS, role = BACKUPS): Promise<BucketWriter> {
    const takenMs = clock();
    const [text, other] = [claim(), claim()];
    const found = await bucket.get(role.lock);
    const isFree = found === undefined || found.bytes.length === 0 || found.ageMs >= leaseMs;
    const isOurs =
      isFree &&
      (found === undefined ? await bucket.create(role.lock, text) : await bucket.replace(role.lock, text, found.tag));
    if (!isOurs) throw inUse(bucket, role, leaseMs);
    if (await bucket.create(role.lock, other)) {
      throw new DomainError(
        'unavailable',
        `'${bucket.address}' ignores conditions of writes (If-None-Match), so two writers could destroy what the other one writes: use a storage that has them`,
      );
    }
    return new BucketWriter(bucket, clock, role, text, leaseMs, takenMs);
  }

  /** Throws 'in-use' if another one has become the writer. */
  async hold(): Promise<void> {
    if (!(await this.#renew())) throw inUse(this.#bucket, this.#role, 0);
  }

  /** As `hold`, before each of many steps: it asks the storage only if the last renewal is older than a quarter of the lease. */
  async holdStep(): Promise<void> {
    const ageMs = this.#clock() - this.#renewedMs;
    // The clock may have been set back.
    if (this.#isLost || !(ageMs >= 0 && ageMs < this.#renewMs)) await this.hold();
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
        if (this.#isLost) return false;
        const beginMs = this.#clock();
        const found = await this.#bucket.get(this.#role.lock);
        this.#isLost = !(
          found?.bytes.equals(this.#text) === true && (await this.#bucket.replace(this.#role.lock, text, found.tag))
        );
        if (!this.#isLost) this.#renewedMs = beginMs;
        return !this.#isLost;
      });
    return this.#writing;
  }
}

function claim(): Uint8Array {
  return Buffer.from(`${JSON.stringify({ writer: randomBytes(16).toString('hex') })}\n`);
}

function inUse({ address }: Bucket, { work }: WriterRole, leaseMs: number): DomainError {
  const killed = leaseMs === 0 ? '' : `; one that was killed is forgotten after ${leaseMs / 1000} s`;
  return new DomainError('in-use', `${work} to '${address}': run this again when it is done${killed}`);
}
