import { type Metric, single } from '../metrics/metrics.ts';
import type { ResponseCache } from '../response/response-cache.ts';

/** The metrics of cached answers. */
export function cacheMetrics(cache: ResponseCache): Metric[] {
  return [
    {
      name: 'bookreel_response_cache_lookups_total',
      type: 'counter',
      help: 'Look-ups of cached answers.',
      samples: () => [
        { labels: { result: 'hit' }, value: cache.hits },
        { labels: { result: 'miss' }, value: cache.misses },
      ],
    },
    single('gauge', 'bookreel_response_cache_entries', 'Cached answers.', () => cache.entries),
    single('gauge', 'bookreel_response_cache_bytes', 'Memory of cached answers.', () => cache.bytes),
  ];
}
