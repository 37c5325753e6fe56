import { isFields, parsedJson } from '../record/fields.ts';

/** Assets that one connection can subscribe to, and that one frame can name; further ones are ignored. */
export const SUBSCRIBED_MAX = 1000;
/** No asset id has more digits (a number of 256 bits). */
const ASSET_ID = /^[0-9]{1,78}$/;

/**
 * A request of a client of the venue's market channel: the first frame (`type`), frames with an `operation`, and PING
 * (docs.polymarket.com, market channel).
 */
export type ChannelRequest =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'subscribe';
      /** True for a first frame, which has a `type` instead of an `operation`. */
      readonly isOpening: boolean;
      readonly assetIds: readonly string[];
      /** True to send the books first; undefined: unchanged (true in a new connection). */
      readonly initialDump: boolean | undefined;
      /** Undefined: unchanged (false in a new connection). */
      readonly custom: boolean | undefined;
    }
  | { readonly kind: 'unsubscribe'; readonly assetIds: readonly string[] };

/** Parses a frame of a client; undefined for any other frame, which the venue does not answer. */
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
  // An empty list is valid (some clients mean all assets); a list with invalid ids only is not.
  if (Array.isArray(ids) && ids.length > 0 && assetIds.length === 0) return undefined;
  return {
    kind: 'subscribe',
    isOpening,
    assetIds,
    initialDump: flag(frame.initial_dump),
    custom: flag(frame.custom_feature_enabled),
  };
}

function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
