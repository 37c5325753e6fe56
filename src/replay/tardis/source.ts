import type { Archive } from '../../store/archive.ts';
import type { PriceTexts } from '../../venue/price-texts.ts';
import type { MirrorMode } from '../market-state.ts';
import type { TickSizes } from '../tick-sizes.ts';

/** What a stream reads: the archive, caches that all streams share, and the books that an outcome has. */
export interface TardisSource {
  readonly archive: Archive;
  readonly ticks: TickSizes;
  readonly prices: PriceTexts;
  readonly mirror: MirrorMode;
}
