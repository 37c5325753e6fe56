import { join } from 'node:path';
import type { SettingValues } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import type { AppDeps } from '../http/app.ts';
import type { NodeRoutesDeps } from '../http/node/node-routes.ts';
import { Admissions } from '../http/plugins/admission.ts';
import { bucketAccess } from '../store/bucket.ts';
import { KEY_SECRET_FILE, KeySecret, readSecret } from '../store/key-secret.ts';
import { readSecretFile } from '../store/secret-file.ts';
import type { Served } from './account-site.ts';

const SECRET_CHARS_MIN = 32;
/** The secret is sent in a header. */
const SECRET = /^[!-~]+$/;

/** Reads the secret of nodes from a file. Throws 'invalid-parameter' as `readSecretFile` does, and for a secret that is too short or cannot be sent. */
export function readNodeSecret(path: string): string {
  const secret = readSecretFile(path);
  if (secret.length >= SECRET_CHARS_MIN && SECRET.test(secret)) return secret;
  throw new DomainError(
    'invalid-parameter',
    `the secret in '${path}' must have ${SECRET_CHARS_MIN} or more letters, digits or signs: 'openssl rand -hex 32' makes one`,
  );
}

export interface NodeSettings extends Pick<SettingValues, 'books' | 'home' | 'nodeSecretFile' | 'processes'> {
  readonly demo?: boolean | undefined;
  readonly node?: boolean | undefined;
}

/** Throws 'invalid-parameter' for settings of a node that do not fit together, for --home without --node, and as `bucketAccess` does. */
export function refuseNodeSettings({ node, home, books, nodeSecretFile, processes, demo }: NodeSettings): void {
  const refused = (sentence: string) => new DomainError('invalid-parameter', sentence);
  if (node !== true && home !== undefined) throw refused('--home is a setting of nodes: give --node too');
  if (node !== true) return;
  if (demo === true) throw refused('--demo has an archive of its own, and a node has none: leave one of them out');
  if (processes !== 'auto' && processes > 1) {
    throw refused(`a node is one process: leave --processes ${processes} out, and start more nodes`);
  }
  const missing = Object.entries({ '--books': books, '--home': home, '--node-secret-file': nodeSecretFile });
  const names = missing.flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (names.length > 0) throw refused(`--node needs ${names.join(' and ')} too, see 'bookreel manual nodes'`);
  bucketAccess(books!, process.env);
}

interface ServedNodes extends Pick<NodeRoutesDeps, 'secret' | 'version' | 'nowMs' | 'isDraining'> {
  readonly served: Pick<Served, 'archive' | 'registry' | 'activity'>;
  readonly data: string;
  /** The secret that all processes of this server share; undefined: it is one process. */
  readonly serverSecret: KeySecret | undefined;
}

/** The routes and admissions of home for its nodes. */
export async function servedNodes({ served, data, serverSecret, ...deps }: ServedNodes): Promise<AppDeps['nodes']> {
  const { nodeRoutes } = await import('../http/node/node-routes.ts');
  const { archive, registry, activity } = served;
  const admissions = new Admissions(serverSecret ?? KeySecret.random());
  const keySecret = () => readSecret(join(data, KEY_SECRET_FILE))?.toHex();
  const { archiveId } = archive;
  const all = { ...deps, admissions, registry, nodes: activity.nodes, keySecret, archiveId };
  return { admissions, routes: (host) => nodeRoutes(all, host) };
}
