import type { SettingValues } from '../config.ts';
import type { RedisDeps, RedisWindows } from '../http/plugins/redis-windows.ts';
import { readSecretFile } from '../store/secret-file.ts';

type Settings = Pick<SettingValues, 'windows' | 'windowsPasswordFile'>;

/** Opens windows in the Redis of the settings, and waits until it has answered or cannot be reached; undefined without one. Throws 'invalid-parameter'. */
export async function openWindows(
  { windows, windowsPasswordFile }: Settings,
  onChange: RedisDeps['onChange'],
): Promise<RedisWindows | undefined> {
  if (windows === undefined) return undefined;
  const url = new URL(windows);
  const wait = /\d+/.exec(url.search)?.[0];
  url.search = '';
  if (windowsPasswordFile !== undefined) url.password = encodeURIComponent(readSecretFile(windowsPasswordFile));
  const { RedisWindows } = await import('../http/plugins/redis-windows.ts');
  const opened = new RedisWindows({
    url: url.href,
    ...(wait !== undefined && { waitMs: Number(wait) }),
    onChange: (isAway, sentence) => onChange(isAway, `Redis at ${url.host}: ${sentence}`),
  });
  await opened.open();
  return opened;
}

/** Returns a sentence for each mistake in the settings of Redis. */
export function windowsProblems({ windows, windowsPasswordFile }: Settings): string[] {
  const inFile = 'write that into a file, and name the file with --windows-password-file';
  return [
    // Others may read the arguments and the environment of a process.
    ...(windows !== undefined && windows.password !== '' ? [`--windows has a password: ${inFile}`] : []),
    ...(windows === undefined && windowsPasswordFile !== undefined
      ? ['--windows-password-file needs --windows: it is the password of that Redis']
      : []),
  ];
}
