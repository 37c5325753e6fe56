/** A path with a query; fields without a value are left out. */
export function linkTo(path: string, fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value = ''] of Object.entries(fields)) if (value !== '') query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}
