/** A part of the measurements is impossible because this machine lacks something. The message says how to install it. */
export class LeftOut extends Error {}

/** The path of a program of Debian's `packages`. Throws `LeftOut` if it is not installed. */
export function requiredProgram(program: string, packages: string): string {
  const path = Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
  if (path === null) throw new LeftOut(`${program} is not installed (Debian: apt-get install ${packages})`);
  return path;
}

/** The first version number in a command's output. */
export function versionOf(...command: string[]): string {
  const { stdout, stderr } = Bun.spawnSync(command, { stdout: 'pipe', stderr: 'pipe' });
  return /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? 'of unknown version';
}
