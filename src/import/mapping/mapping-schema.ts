import { type Static, type TProperties, Type } from 'typebox';

/**
 * The language of mappings, as TOML gives it. A value may be written as a text alone: the name of its field. `checked-mapping.ts`
 * reads it, the manual's page `mappings` describes it.
 */
const TEXT_CHARS_MAX = 1000;
const WORDS_MAX = 100;
const CLOSED = { additionalProperties: false };

const Text = Type.String({ minLength: 1, maxLength: TEXT_CHARS_MAX });
const Words = Type.Array(Text, { minItems: 1, maxItems: WORDS_MAX });
const optional = Type.Optional;

/** The place of a value: exactly one of the first five keys. */
const PLACE = {
  /** The name of a column, or names of JSON members joined by dots. */
  field: optional(Text),
  /** Several such names: their texts, joined by one space. */
  fields: optional(Words),
  /** The value itself, the same in every row. */
  value: optional(Text),
  /** A regular expression on the name of the file, without directory, `.gz` and `.zst`. Its groups are the value, joined by one space. */
  file_name: optional(Text),
  /** The same on the path of the file, as the command names it. */
  file_path: optional(Text),
  /** A regular expression on the field or fields. Its groups are the value, joined by one space. */
  pattern: optional(Text),
  /** Texts of the field that mean that there is no value. */
  none: optional(Words),
  /** The value of rows that do not state the field. */
  default: optional(Text),
};

/** A table that may be written as the name of a field. */
const place = <P extends TProperties>(more: P) => Type.Object({ ...PLACE, ...more }, { ...CLOSED, mayBeField: true });

const MappedValue = place({});
export type MappedValue = Static<typeof MappedValue>;

/** Decimals to which a figure with noise of floating point is rounded. */
const Round = Type.Integer({ minimum: 0, maximum: 12 });
/** What a figure is multiplied by: 0.01 for cents. */
const Scale = Type.Number({ minimum: 1e-12, maximum: 1e12 });
const MappedFigure = place({
  scale: optional(Scale),
  round: optional(Round),
  /** The figure is a price of the other outcome: 1 minus it is meant. */
  complement: optional(Type.Boolean()),
});
export type MappedFigure = Static<typeof MappedFigure>;

const Edge = Type.Union([Type.Literal('start'), Type.Literal('end')]);
export const UNITS = ['s', 'ms', 'us', 'ns'] as const;
const MappedTime = place({
  unit: optional(Type.Union(UNITS.map((unit) => Type.Literal(unit)))),
  /** `iso`, or a pattern like `YYYY-MM-DD hh:mm:ss`. */
  format: optional(Text),
  zone: optional(Text),
  /** The edge of the market's window that a number of `unit` is counted from, forwards or backwards. */
  after: optional(Edge),
  before: optional(Edge),
});
export type MappedTime = Static<typeof MappedTime>;

const MappedOutcome = place({ up: optional(Words), down: optional(Words) });
const MappedTradeSide = place({ buy: optional(Words), sell: optional(Words) });
const MappedLevelSide = place({ bid: optional(Words), ask: optional(Words) });

/** Rows in which a field has one of these texts. */
const Rows = Type.Object({ field: Text, is: Words }, CLOSED);

/** A member of an object by its name, or of an array by its index. */
const Member = Type.Union([Text, Type.Integer({ minimum: 0, maximum: 99 })]);

/** One side of a book: `prices` and `sizes`, or `levels` with the members `price` and `size`. */
const MappedSide = Type.Object(
  {
    /** Columns by pattern, `bid_price_0..9`, or a list. */
    prices: optional(Text),
    sizes: optional(Text),
    /** A list of objects or pairs. */
    levels: optional(Text),
    price: optional(Member),
    size: optional(Member),
    /** The text between the items of a list that is written as one text. */
    separator: optional(Text),
    /** What prices and sizes are multiplied by. */
    scale: optional(Scale),
    size_scale: optional(Scale),
    /** Decimals to which prices and sizes are rounded. */
    round: optional(Round),
    /** The levels are those of the other outcome's other side: their prices are 1 minus these. */
    complement: optional(Type.Boolean()),
  },
  CLOSED,
);
export type MappedSide = Static<typeof MappedSide>;

/** Keys that every kind of record may have: a list in the row with one record per element, and a time of its own. */
const EACH = { each: optional(Text), time: optional(MappedTime) };
const OF_OUTCOME = { ...EACH, outcome: optional(MappedOutcome) };

export const RECORD_SCHEMAS = {
  books: Type.Object({ ...OF_OUTCOME, bids: MappedSide, asks: MappedSide }, CLOSED),
  /** Rows with a level each, or with one of both sides. */
  levels: Type.Object(
    {
      ...OF_OUTCOME,
      side: optional(MappedLevelSide),
      price: optional(MappedFigure),
      size: optional(MappedFigure),
      bid: optional(MappedFigure),
      bid_size: optional(MappedFigure),
      ask: optional(MappedFigure),
      ask_size: optional(MappedFigure),
      /** The rows of whole books; all others change the book before. */
      snapshot: optional(Rows),
      /** The asks are bids of the other outcome: their prices are 1 minus these. */
      complement: optional(Type.Boolean()),
    },
    CLOSED,
  ),
  quotes: Type.Object(
    {
      ...OF_OUTCOME,
      bid: MappedFigure,
      bid_size: optional(MappedFigure),
      ask: MappedFigure,
      ask_size: optional(MappedFigure),
    },
    CLOSED,
  ),
  midpoints: Type.Object(
    { ...OF_OUTCOME, price: optional(MappedFigure), bid: optional(MappedFigure), ask: optional(MappedFigure) },
    CLOSED,
  ),
  trades: Type.Object(
    {
      ...OF_OUTCOME,
      price: MappedFigure,
      size: optional(MappedFigure),
      side: optional(MappedTradeSide),
      fee_rate_bps: optional(MappedFigure),
      /** Equal rows are different trades. */
      distinct: optional(Type.Boolean()),
      transaction_hash: optional(MappedValue),
    },
    CLOSED,
  ),
  coin_prices: Type.Object({ ...EACH, coin: MappedValue, source: MappedValue, price: MappedFigure }, CLOSED),
};
export type RecordKind = keyof typeof RECORD_SCHEMAS;

const FORMATS = ['csv', 'json', 'sqlite', 'parquet'] as const;
export const TOP_SCHEMAS = {
  format: Type.Union(FORMATS.map((format) => Type.Literal(format))),
  rows: Type.Object(
    {
      /** Fields that have JSON as text. */
      json: optional(Words),
      /** Reads only rows in which the field is one of the texts. */
      only: optional(Rows),
      /** For JSON: the rows are the elements of this list in each object. */
      list: optional(Text),
      /** For CSV: what is between two fields, a comma by default. */
      delimiter: optional(Type.String({ minLength: 1, maxLength: 2 })),
      /** For SQLite: either `table` or `query`. */
      table: optional(Text),
      query: optional(Type.String({ minLength: 1, maxLength: 10_000 })),
      /** Rows of one instant with different values: `keep` stores all of them. */
      repeats: optional(Type.Literal('keep')),
      /** Rows of markets that no market record states: `skip` leaves them out and counts them. */
      unknown_markets: optional(Type.Literal('skip')),
    },
    CLOSED,
  ),
  /**
   * Rows that later rows refer to. `key`: the field that names such a row; `by`: the field of a row that has this name, if it is another
   * one. Without a key the rows refer to the latest.
   */
  refer: Type.Object({ field: Text, is: Words, key: optional(Text), by: optional(Text) }, CLOSED),
  /**
   * The field of a row that has frames of the venue, as text or as JSON, and the fields with what the frames do not state. `venue` is
   * stated for messages of another venue.
   */
  frames: Type.Object(
    {
      field: Text,
      venue: optional(Type.Literal('kalshi')),
      asset_id: optional(Text),
      market: optional(Text),
      timestamp: optional(Text),
    },
    CLOSED,
  ),
  time: MappedTime,
  /** When the recorder received the row. */
  received: MappedTime,
  market: Type.Object(
    {
      condition_id: optional(MappedValue),
      slug: optional(MappedValue),
      token: optional(MappedValue),
      coin: optional(MappedValue),
      timeframe: optional(MappedValue),
      start: optional(MappedTime),
      end: optional(MappedTime),
      /** Instead of start and end: the window in which the time of the row lies. */
      window: optional(Type.Literal('time')),
      up_token: optional(MappedValue),
      down_token: optional(MappedValue),
      market_id: optional(MappedValue),
      event_id: optional(MappedValue),
      winner: optional(MappedOutcome),
      price_start: optional(MappedValue),
      price_end: optional(MappedValue),
      volume: optional(MappedValue),
      liquidity: optional(MappedValue),
      resolved: optional(MappedTime),
    },
    CLOSED,
  ),
  outcome: MappedOutcome,
};

type Top = { readonly [Key in keyof typeof TOP_SCHEMAS]: Static<(typeof TOP_SCHEMAS)[Key]> };
type Section<Kind extends RecordKind> = Static<(typeof RECORD_SCHEMAS)[Kind]>;

/** A table of the mapping that makes records, with the name of its keys in messages. */
export type MappedSection = { [Kind in RecordKind]: { kind: Kind; name: string } & Section<Kind> }[RecordKind];

/** A mapping that is complete and does not contradict itself. */
export interface Mapping extends Pick<Top, 'format'>, Partial<Omit<Top, 'format'>> {
  /** The name that the user gave: a path, or the name of a shipped mapping. */
  readonly name: string;
  readonly sections: readonly MappedSection[];
}
