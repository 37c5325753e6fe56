import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** The value of a JSON text; undefined if it is damaged, or has another shape. */
export function jsonOf<Schema extends TSchema>(schema: Schema, text: string | Buffer): Static<Schema> | undefined {
  try {
    const found: unknown = JSON.parse(text.toString());
    return Value.Check(schema, found) ? found : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
