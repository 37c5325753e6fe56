import { type Fields, isFields, parsedJson } from '../record/fields.ts';

/** A message of the market channel: what it is about, without its content. */
export interface ChannelEvent {
  readonly assetId: string;
  /** True for a whole book. */
  readonly isBook: boolean;
  /** True if it changes the book or states it as a whole. */
  readonly isOfBook: boolean;
  readonly timestampMs: number;
  /** The hash of the book after it, if it states one. */
  readonly hash: string | undefined;
}

/** The events of a frame, in its order: one for each change, book, trade, tick and best price. None of a frame that is not of the channel. */
export function channelEvents(text: string): ChannelEvent[] {
  const value = parsedJson(text);
  return (Array.isArray(value) ? value : [value]).flatMap((frame) => (isFields(frame) ? eventsOf(frame) : []));
}

/** The slugs of the markets that a frame announces: the venue announces those of all coins on every socket. Undefined for a frame with anything else. */
export function announcedSlugs(text: string): readonly string[] | undefined {
  if (!text.includes('"new_market"')) return undefined;
  const value = parsedJson(text);
  const frames = (Array.isArray(value) ? value : [value]).filter(isFields);
  if (!frames.every(({ event_type: type }) => type === 'new_market')) return undefined;
  return frames.flatMap(({ slug }) => (typeof slug === 'string' ? [slug.toLowerCase()] : []));
}

function eventsOf(frame: Fields): ChannelEvent[] {
  const { event_type: type, price_changes: changes } = frame;
  const timestampMs = Number(frame.timestamp);
  const isBook = type === 'book' || (type === undefined && Array.isArray(frame.bids));
  const parts = Array.isArray(changes) ? changes.filter(isFields) : [frame];
  return parts.flatMap(({ asset_id: assetId, hash }) => {
    if (typeof assetId !== 'string' || !Number.isFinite(timestampMs)) return [];
    const isOfBook = isBook || type === 'price_change';
    return [{ assetId, isBook, isOfBook, timestampMs, hash: typeof hash === 'string' ? hash : undefined }];
  });
}
