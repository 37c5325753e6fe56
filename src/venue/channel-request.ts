import { isFields, parsedJson } from '../record/fields.ts';

/** Assets that one connection can listen to, and that one frame can name; further ones are not subscribed. */
export const SUBSCRIBED_MAX = 1000;
/** No asset id has more digits (a number of 256 bits). */
const ASSET_ID = /^[0-9]{1,78}$/;

/**
 * A request of a client of the venue's market channel: the frame that begins it, `operation` frames, and PING. Field names as
 * the venue documents them (docs.polymarket.com, market channel).
 */
export type ChannelRequest =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'subscribe';
      readonly assetIds: readonly string[];
      /** Whether books are sent at first; undefined: as it was, which is yes at first. */
      readonly initialDump: boolean | undefined;
      /** Undefined: as it was, which is no at first. */
      readonly custom: boolean | undefined;
    }
  | { readonly kind: 'unsubscribe'; readonly assetIds: readonly string[] };

/** Undefined for what asks for nothing that is known; the venue is silent about such frames. */
export function channelRequest(text: string): ChannelRequest | undefined {
  if (text === 'PING') return { kind: 'ping' };
  const frame = parsedJson(text);
  if (!isFields(frame)) return undefined;
  const { type, operation, assets_ids: ids } = frame;
  const assetIds = Array.isArray(ids)
    ? ids.filter((id): id is string => typeof id === 'string' && ASSET_ID.test(id)).slice(0, SUBSCRIBED_MAX)
    : [];
  if (operation === 'unsubscribe') return { kind: 'unsubscribe', assetIds };
  const isOpening = operation === undefined && typeof type === 'string' && type.toLowerCase() === 'market';
  if (operation !== 'subscribe' && !isOpening) return undefined;
  // Naming none is fine (some mean all by it), naming only impossible ones is not.
  if (Array.isArray(ids) && ids.length > 0 && assetIds.length === 0) return undefined;
  return {
    kind: 'subscribe',
    assetIds,
    initialDump: flag(frame.initial_dump),
    custom: flag(frame.custom_feature_enabled),
  };
}

function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
