import { type Metric, metric } from '../metrics/metrics.ts';
import type { ResponseCache } from '../response/response-cache.ts';

/** The metrics of cached answers. */
export function cacheMetrics(cache: ResponseCache): Metric[] {
  return [
    metric('counter', 'bookreel_response_cache_lookups_total', 'Look-ups of cached answers.', () => [
      { labels: { result: 'hit' }, value: cache.hits },
      { labels: { result: 'miss' }, value: cache.misses },
    ]),
    metric('gauge', 'bookreel_response_cache_entries', 'Cached answers.', () => cache.entries),
    metric('gauge', 'bookreel_response_cache_bytes', 'Memory of cached answers.', () => cache.bytes),
  ];
}
