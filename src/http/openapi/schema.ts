export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/**
 * A copy of a JSON value with its schemas converted to the form of OpenAPI 3.1 that tools support best: a union of constants becomes
 * an enum, a union with null becomes a type list, and objects get `additionalProperties: false` if they state nothing else. A schema
 * with an `$id` is added to `components` and replaced by a reference.
 */
export function openApiSchema(schema: object, components: Map<string, JsonObject>): JsonObject {
  // Through JSON, to remove TypeBox's symbols.
  return converted(JSON.parse(JSON.stringify(schema)) as JsonObject, components) as JsonObject;
}

function converted(value: Json, components: Map<string, JsonObject>): Json {
  if (isList(value)) return value.map((item) => converted(item, components));
  if (!isObject(value)) return value;
  const { $id, anyOf, ...rest } = value;
  if (typeof $id === 'string') {
    components.set($id, converted({ ...rest, ...(anyOf === undefined ? {} : { anyOf }) }, components) as JsonObject);
    return { $ref: `#/components/schemas/${$id}` };
  }
  const fields = Object.fromEntries(Object.entries(rest).map(([name, field]) => [name, converted(field, components)]));
  if (anyOf !== undefined && isList(anyOf))
    return alternatives(converted(anyOf, components) as readonly Json[], fields);
  const isClosed = fields.type === 'object' && fields.properties !== undefined;
  return isClosed ? { additionalProperties: false, ...fields } : fields;
}

/** `fields`: the schema without its union. */
function alternatives(schemas: readonly Json[], fields: JsonObject): JsonObject {
  const stated = schemas.filter(isObject);
  const others = stated.filter(({ type }) => type !== 'null');
  const isNullable = others.length < stated.length;
  const nullable = (type: Json): Json => (isNullable ? [type, 'null'] : type);
  const constants = others.flatMap((schema) => (schema.const === undefined ? [] : [schema.const]));
  if (constants.length === others.length) {
    return { ...fields, type: nullable('string'), enum: isNullable ? [...constants, null] : constants };
  }
  const [only] = others;
  if (others.length === 1 && typeof only?.type === 'string') return { ...only, ...fields, type: nullable(only.type) };
  return { ...fields, anyOf: [...schemas] };
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value);
}
