import { type BookStyle, randomBooks, randomSize, randomsOf } from '../support/random-books.ts';

type Outcome = 'up' | 'down';

interface Level {
  readonly price: number;
  readonly size: number;
}

export interface MarketLine {
  readonly type: 'market';
  readonly conditionId: string;
  readonly slug: string;
  readonly symbol: string;
  readonly timeframe: string;
  readonly clobTokenIds: readonly [string, string];
  readonly startTime: string;
  readonly endTime: string;
  readonly [field: string]: unknown;
}

interface GapLine {
  readonly type: 'gap';
  readonly conditionId: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

interface Timed {
  readonly id: string;
  readonly timestamp: string;
  readonly receivedAt?: string;
}

interface OutcomeLine extends Timed {
  readonly conditionId: string;
  readonly outcome: Outcome;
}

interface SnapshotLine extends OutcomeLine {
  readonly type: 'snapshot';
  readonly mirrored?: true;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

interface QuoteLine extends OutcomeLine {
  readonly type: 'quote';
  readonly bidPrice: number | null;
  readonly bidSize: number | null;
  readonly askPrice: number | null;
  readonly askSize: number | null;
}

interface PriceLine extends OutcomeLine {
  readonly type: 'price';
  readonly price: number;
  readonly kind: 'mid' | 'trade';
  readonly size?: number;
  readonly side?: 'buy' | 'sell';
  readonly feeRateBps?: number;
  readonly transactionHash?: string;
}

interface LastTradePriceLine extends OutcomeLine {
  readonly type: 'lastTradePrice';
  readonly price: number;
}

interface CoinPriceLine extends Timed {
  readonly type: 'coinPrice';
  readonly symbol: string;
  readonly source: string;
  readonly price: number;
  readonly size?: number;
  readonly side?: 'buy' | 'sell';
}

type RecordLine = SnapshotLine | QuoteLine | PriceLine | LastTradePriceLine | CoinPriceLine;
export type Line = MarketLine | GapLine | RecordLine;

/** The filters of an export, implemented naively. */
export interface Narrowing {
  readonly coins?: readonly string[] | undefined;
  readonly timeframes?: readonly string[] | undefined;
  readonly markets?: readonly string[] | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly sampling?: {
    readonly outcome: Outcome | undefined;
    readonly intervalMs: number | undefined;
    readonly depth: number | undefined;
  };
}

const T0 = Date.UTC(2026, 3, 16, 7, 10);
const MINUTES = { '5m': 5, '15m': 15, '1h': 60 } as const;
const TIMEFRAMES = Object.keys(MINUTES) as (keyof typeof MINUTES)[];
const COINS = ['sol', 'btc', 'eth'];
const REASONS = ['recorder restarted', 'a "quoted", one\nin two lines', 'é€😀', "'"];
const iso = (ms: number) => new Date(ms).toISOString();

/** Records of every kind as lines of bookreel's own format, markets first, otherwise in no particular order. */
export function generatedRecording(seed: number, { hasArrivals = true } = {}): Line[] {
  const random = randomsOf(seed);
  const below = (count: number) => Math.floor(random() * count);
  const sometimes = <T>(value: T) => (random() < 0.5 ? [value] : []);
  const ids = shuffledIds(5000, random);
  const id = () => String(ids.pop()!);
  const lines: Line[] = [];
  for (const symbol of COINS.slice(below(3))) {
    for (const source of ['chainlink', 'a, "b"'].slice(below(3))) {
      for (let i = 0, ms = T0; i < below(60); i += 1, ms += below(3) * 700) {
        const price = random() < 0.1 ? 1234.5678901234567 : (below(1e9) + 1) / 10 ** below(8);
        // A second price of one time is another trade only if it has other details.
        const trade = source === 'chainlink' ? {} : { size: (below(1e9) + 1) / 1e6, side: 'sell' as const };
        lines.push({ type: 'coinPrice', id: id(), symbol, source, timestamp: iso(ms), price, ...trade });
      }
    }
    for (let number = below(4); number > 0; number -= 1) lines.push(...anyMarket(symbol, number));
  }
  const all = withoutRepeats(lines).sort((a, b) => Number(b.type === 'market') - Number(a.type === 'market'));
  return hasArrivals ? withArrivals(all, randomsOf(seed + 1)) : all;

  function anyMarket(symbol: string, number: number): Line[] {
    const timeframe = TIMEFRAMES[below(3)]!;
    const startMs = T0 + below(3) * 300_000;
    const conditionId = `0x${(below(2 ** 30) * 8 + number).toString(16).padStart(64, '0')}`;
    const known = random() < 0.7 ? `${below(2 ** 30)}${'7'.repeat(60)}${number}` : '0';
    const market: MarketLine = {
      type: 'market',
      conditionId,
      ...Object.assign({}, ...sometimes({ marketId: String(below(1e9) + 1), eventId: '12' })),
      slug: `${symbol}-UpDown-${timeframe}-${startMs / 1000}-${number}`,
      symbol,
      timeframe,
      outcomes: ['up', 'down'],
      clobTokenIds: [known, `${below(2 ** 30)}${'3'.repeat(66)}${number}`],
      ...Object.assign({}, ...sometimes({ active: random() < 0.5, closed: random() < 0.5 })),
      ...Object.assign({}, ...sometimes({ winner: random() < 0.5 ? 'up' : 'down' })),
      startTime: iso(startMs),
      endTime: iso(startMs + MINUTES[timeframe] * 60_000),
      ...Object.assign({}, ...sometimes({ volume: below(1e9) / 1000, liquidity: 4021.333333333333 })),
      ...Object.assign(
        {},
        ...sometimes({ resolvedAt: iso(startMs + 999_999), priceStart: 76211.8, priceEnd: 0.00001 }),
      ),
      createdAt: iso(startMs - 1 - below(1e9)),
      ...Object.assign({}, ...sometimes({ updatedAt: iso(startMs + below(1e9)) })),
    };
    const gaps = Array.from({ length: below(4) }, (): GapLine => {
      const fromMs = startMs + below(200_000);
      return {
        type: 'gap',
        conditionId,
        from: iso(fromMs),
        to: iso(fromMs + below(2) * below(90_000)),
        reason: REASONS[below(4)]!,
      };
    });
    const mirrored = random() < 0.3;
    const books = [
      ...snapshots(conditionId, 'up', startMs, false),
      ...snapshots(conditionId, 'down', startMs, mirrored),
    ];
    const values = [
      ...quotes(conditionId, startMs),
      ...prices(conditionId, startMs),
      ...lastTradePrices(conditionId, startMs),
    ];
    return [market, ...gaps, ...books, ...values];
  }

  function snapshots(conditionId: string, outcome: Outcome, startMs: number, mirrored: boolean): SnapshotLine[] {
    const style: BookStyle = {
      priceScale: [2, 3, 4, 7][below(4)]!,
      sizes: (['whole', 'cents', 'millionths', 'mixed', 'extremes'] as const)[below(5)]!,
      levelsMax: [0, 2, 12, 40][below(4)]!,
      changesMax: below(6),
    };
    let timestampMs = startMs + below(5000);
    return randomBooks(below(2 ** 30), below(70), style).map((book) => {
      timestampMs += below(3) * below(2500);
      return {
        type: 'snapshot',
        id: id(),
        conditionId,
        outcome,
        ...(mirrored ? { mirrored } : {}),
        timestamp: iso(timestampMs),
        bids: book.bidPrices.map((price, i) => ({ price, size: book.bidSizes[i]! })),
        asks: book.askPrices.map((price, i) => ({ price, size: book.askSizes[i]! })),
      };
    });
  }

  function quotes(conditionId: string, startMs: number): QuoteLine[] {
    return Array.from({ length: below(2) * below(50) }, () => {
      const [bid, ask] = [random() < 0.8, random() < 0.8];
      return {
        type: 'quote',
        id: id(),
        conditionId,
        outcome: random() < 0.5 ? 'up' : 'down',
        timestamp: iso(startMs + below(90_000)),
        bidPrice: bid ? below(1001) / 1000 : null,
        bidSize: bid && random() < 0.8 ? randomSize(random, 'mixed') : null,
        askPrice: ask ? below(1001) / 1000 : null,
        askSize: ask && random() < 0.8 ? randomSize(random, 'mixed') : null,
      };
    });
  }

  function prices(conditionId: string, startMs: number): PriceLine[] {
    return Array.from({ length: below(2) * below(50) }, () => {
      const kind = random() < 0.5 ? 'mid' : 'trade';
      return {
        type: 'price',
        id: id(),
        conditionId,
        outcome: random() < 0.5 ? 'up' : 'down',
        timestamp: iso(startMs + below(90_000)),
        price: below(10_001) / 10_000,
        kind,
        ...(kind === 'trade' ? tradeDetails() : {}),
      };
    });
  }

  function lastTradePrices(conditionId: string, startMs: number): LastTradePriceLine[] {
    return Array.from({ length: below(2) * below(50) }, () => ({
      type: 'lastTradePrice',
      id: id(),
      conditionId,
      outcome: random() < 0.5 ? 'up' : 'down',
      timestamp: iso(startMs + below(90_000)),
      price: below(1001) / 1000,
    }));
  }

  /** Some trades have all fields, some have none. */
  function tradeDetails(): Partial<PriceLine> {
    return {
      ...(random() < 0.5 ? { size: randomSize(random, 'mixed') } : {}),
      ...(random() < 0.5 ? { side: random() < 0.5 ? 'buy' : 'sell' } : {}),
      ...(random() < 0.5 ? { feeRateBps: below(1001) } : {}),
      ...(random() < 0.5 ? { transactionHash: `0x${below(1e9).toString(16).padStart(64, '0')}` } : {}),
    };
  }
}

/** The timestamp of a record, if it has one. */
export function timesOf(line: Line): number[] {
  return line.type === 'market' || line.type === 'gap' ? [] : [Date.parse(line.timestamp)];
}

/** `lines` in the order of an export. */
export function expectedExport(lines: readonly Line[], narrowing: Narrowing = {}): Line[] {
  const { coins, timeframes, markets, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = narrowing;
  const { outcome, intervalMs, depth } = narrowing.sampling ?? {};
  const isWindow = narrowing.fromMs !== undefined || narrowing.toMs !== undefined;
  const within = (from: string, to: string) => Date.parse(from) <= toMs && Date.parse(to) >= fromMs;
  const records = lines
    .filter((line): line is RecordLine => line.type !== 'market' && line.type !== 'gap')
    .filter(({ timestamp }) => within(timestamp, timestamp))
    .sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || Number(a.id) - Number(b.id))
    .filter((line) => outcome === undefined || !('outcome' in line) || line.outcome === outcome)
    .filter((line, index, all) => isLastOfInterval(line, all.slice(index + 1)))
    .map((line) =>
      line.type === 'snapshot' ? { ...line, bids: line.bids.slice(0, depth), asks: line.asks.slice(0, depth) } : line,
    );
  function isLastOfInterval(line: RecordLine, later: readonly RecordLine[]): boolean {
    if (intervalMs === undefined) return true;
    const bucketOf = ({ timestamp }: RecordLine) => Math.floor(Date.parse(timestamp) / intervalMs);
    return !later.some((other) => seriesOf(other) === seriesOf(line) && bucketOf(other) === bucketOf(line));
  }
  const all = lines.filter((line): line is MarketLine => line.type === 'market').sort(byStart);
  const known = [...new Set(lines.flatMap((line) => ('symbol' in line ? [line.symbol] : [])))].sort();
  const named = markets?.map((name) => name.toLowerCase());
  return known
    .filter((coin) => coins === undefined || coins.includes(coin))
    .flatMap((coin) => {
      const ofMarkets = all
        .filter(
          ({ symbol, timeframe }) => symbol === coin && (timeframes === undefined || timeframes.includes(timeframe)),
        )
        .filter(
          ({ conditionId, slug }) =>
            named === undefined || named.includes(conditionId) || named.includes(slug.toLowerCase()),
        )
        .flatMap((market): Line[] => {
          const of = (line: Line) =>
            line.type !== 'market' && 'conditionId' in line && line.conditionId === market.conditionId;
          const below = [
            ...lines
              .filter((line): line is GapLine => line.type === 'gap' && of(line) && within(line.from, line.to))
              .sort(byGap),
            ...records.filter(of),
          ];
          return isWindow && named === undefined && below.length === 0 ? [] : [market, ...below];
        });
      const isWhole = named === undefined && timeframes === undefined;
      const ofCoin = records.filter((line) => line.type === 'coinPrice' && line.symbol === coin);
      return [...(isWhole ? ofCoin : []), ...ofMarkets];
    });
}

/** Names the series of a record. */
function seriesOf(line: RecordLine): string {
  if (line.type === 'coinPrice') return `${line.symbol} ${line.source}`;
  return [line.type, line.conditionId, line.outcome, line.type === 'price' ? line.kind : ''].join(' ');
}

function byStart(a: MarketLine, b: MarketLine): number {
  return Date.parse(a.startTime) - Date.parse(b.startTime) || compare(a.conditionId, b.conditionId);
}

function byGap(a: GapLine, b: GapLine): number {
  return compare(a.from, b.from) || compare(a.to, b.to) || Buffer.compare(Buffer.from(a.reason), Buffer.from(b.reason));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Gives most records of some series an arrival: most shortly after their time, a few long before or after it. */
function withArrivals(lines: readonly Line[], random: () => number): Line[] {
  const share = random() < 0.3 ? 1 : 0.8;
  return lines.map((line) => {
    if (!('timestamp' in line) || line.type === 'lastTradePrice' || line.type === 'market') return line;
    const isSilent = line.type === 'coinPrice' ? line.source !== 'chainlink' : line.conditionId.endsWith('1');
    if (isSilent || random() > share) return line;
    const delayMs = Math.floor(random() < 0.95 ? 20 + random() * 200 : (random() - 0.5) * 1e9);
    const fields = Object.entries(line);
    const at = fields.findIndex(([name]) => name === 'timestamp') + 1;
    const receivedAt = iso(Date.parse(line.timestamp) + delayMs);
    return Object.fromEntries([...fields.slice(0, at), ['receivedAt', receivedAt], ...fields.slice(at)]) as Line;
  });
}

/** Without repeats: records that differ only in their ids. */
function withoutRepeats(lines: readonly Line[]): Line[] {
  const seen = new Set<string>();
  return lines.filter((line) => {
    const text = JSON.stringify({ ...line, id: undefined, mirrored: undefined });
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** 1 to 10 times `count`, and a few of the largest there are. */
function shuffledIds(count: number, random: () => number): number[] {
  const ids = new Set([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1]);
  while (ids.size < count) ids.add(1 + Math.floor(random() * 10 * count));
  return [...ids].sort(() => random() - 0.5);
}
