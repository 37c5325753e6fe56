/** Something this machine does not have, so that a part of the measurements cannot be had; says how to get it. */
export class LeftOut extends Error {}

/** The path of a program, which `packages` of Debian would bring. Throws `LeftOut` where it is not installed. */
export function requiredProgram(program: string, packages: string): string {
  const path = Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
  if (path === null) throw new LeftOut(`there is no ${program} here (Debian: apt-get install ${packages})`);
  return path;
}

/** The first version number that a command prints. */
export function versionOf(...command: string[]): string {
  const { stdout, stderr } = Bun.spawnSync(command, { stdout: 'pipe', stderr: 'pipe' });
  return /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? 'of unknown version';
}
