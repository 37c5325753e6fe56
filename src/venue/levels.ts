import { isFields, rejected } from '../record/fields.ts';

/** Levels as objects: `[price, size]` becomes `{price, size}`. Anything but an array is returned as it is. */
export function levelObjects(levels: unknown, name: string): unknown {
  if (!Array.isArray(levels)) return levels;
  return levels.map((level: unknown) => {
    if (isFields(level)) return level;
    if (!Array.isArray(level) || level.length !== 2)
      throw rejected(`${name} has a level that is not a pair of price and size`);
    return { price: level[0], size: level[1] };
  });
}
