/** The settings of a systemd unit: of each name its values in order. */
export function settingsOf(unit: string): Readonly<Record<string, readonly string[] | undefined>> {
  const lines = [...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)];
  const byName = Object.entries(Object.groupBy(lines, ([, name]) => name!));
  return Object.fromEntries(byName.map(([name, found]) => [name, found!.map(([, , value]) => value!)]));
}
