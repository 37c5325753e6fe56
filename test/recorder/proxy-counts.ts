/** What a proxy has seen of an asset. */
interface SeenAsset {
  readonly slug: string;
  readonly startMs: number;
  readonly endMs: number;
  /** When the first book went to a client. */
  bookMs: number | undefined;
  /** The number of connections that are subscribed to it. */
  subscribers: number;
}

/** Assets are forgotten this long after their window. */
const KEPT_MS = 3_600_000;

/** What a proxy counts of all its connections. */
export class ProxyCounts {
  connections = 0;
  openings = 0;
  refusedOpenings = 0;
  refusedDuplicates = 0;
  subscribes = 0;
  unsubscribes = 0;
  unanswered = 0;
  /** Subscriptions to assets that were dropped because too many ended ones were subscribed. */
  silentlyDropped = 0;
  pings = 0;
  frames = 0;
  /** The most assets that one connection had at once. */
  assetsMax = 0;
  /** The longest time after a window's end at which its assets were still subscribed. */
  subscribedAfterEndMsMax = 0;
  slugsMax = 0;
  /** Requests by path, without the query. */
  readonly requests = new Map<string, number>();
  readonly #assets = new Map<string, SeenAsset>();

  /** The asset's window, from an answer of Gamma. */
  listed(assetId: string, slug: string, startMs: number, endMs: number): void {
    if (this.#assets.has(assetId)) return;
    this.#assets.set(assetId, { slug, startMs, endMs, bookMs: undefined, subscribers: 0 });
  }

  request(path: string, slugs: number): void {
    this.requests.set(path, (this.requests.get(path) ?? 0) + 1);
    this.slugsMax = Math.max(this.slugsMax, slugs);
  }

  hasEnded(assetId: string, nowMs: number): boolean {
    const endMs = this.#assets.get(assetId)?.endMs;
    return endMs !== undefined && endMs <= nowMs;
  }

  subscribed(assetId: string): void {
    const asset = this.#assets.get(assetId);
    if (asset !== undefined) asset.subscribers += 1;
  }

  left(assetId: string, nowMs: number): void {
    const asset = this.#assets.get(assetId);
    if (asset === undefined) return;
    asset.subscribers -= 1;
    this.subscribedAfterEndMsMax = Math.max(this.subscribedAfterEndMsMax, nowMs - asset.endMs);
  }

  book(assetId: string, nowMs: number): void {
    const asset = this.#assets.get(assetId);
    if (asset !== undefined) asset.bookMs ??= nowMs;
  }

  /** The slugs of windows that start in a time, `untilMs` exclusive, of which a book came after the start or never. */
  lateWindows(fromMs: number, untilMs: number): string[] {
    const late = [...this.#assets.values()].filter(
      ({ startMs, bookMs = Infinity }) => startMs >= fromMs && startMs < untilMs && bookMs >= startMs,
    );
    return [...new Set(late.map(({ slug }) => slug))];
  }

  /** Assets that are still subscribed although their window ended more than `graceMs` ago. */
  overdue(nowMs: number, graceMs: number): string[] {
    return [...this.#assets.values()]
      .filter(({ endMs, subscribers }) => subscribers > 0 && endMs + graceMs < nowMs)
      .map(({ slug }) => slug);
  }

  forget(nowMs: number): void {
    for (const [assetId, { endMs, subscribers }] of this.#assets) {
      if (endMs + KEPT_MS < nowMs && subscribers <= 0) this.#assets.delete(assetId);
    }
  }
}
