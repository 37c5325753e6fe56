import type { Archive } from '../../store/archive.ts';
import type { PriceTexts } from '../../venue/price-texts.ts';
import type { MirrorMode } from '../market-state.ts';
import type { TickSizes } from '../tick-sizes.ts';

/** The source of a stream: the archive, caches that all streams share, and the mode that decides which book an outcome has. */
export interface TardisSource {
  readonly archive: Archive;
  readonly ticks: TickSizes;
  readonly prices: PriceTexts;
  readonly mirror: MirrorMode;
}
