import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from './executable.ts';

/** Why tests that need certificates are skipped; undefined if they can run. */
export const LACKS_OPENSSL = Bun.which('openssl') === null ? 'openssl' : undefined;

export interface CertificatePair {
  readonly certPath: string;
  readonly keyPath: string;
  readonly cert: string;
  readonly key: string;
}

/** Signs a certificate again so that it ended yesterday. */
export async function expire({ certPath, keyPath }: CertificatePair): Promise<void> {
  const command = ['openssl', 'x509', '-in', certPath, '-signkey', keyPath, '-days', '-1', '-out', certPath];
  const { code, stderr } = await finished(command, { env: { PATH: process.env.PATH ?? '' } });
  if (code !== 0) throw new Error(`openssl: ${stderr}`);
}

/** Creates a certificate that signs itself, with its key. `name`: of the subject and of the files. */
export async function createCertificate(
  directory: string,
  name: string,
  options: readonly string[] = ['-days', '2'],
  hosts = 'DNS:localhost,IP:127.0.0.1',
): Promise<CertificatePair> {
  const certPath = join(directory, `${name}.pem`);
  const keyPath = join(directory, `${name}.key`);
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${hosts}`];
  const command = ['openssl', 'req', '-x509', ...kind, ...names, '-keyout', keyPath, '-out', certPath, ...options];
  const { code, stderr } = await finished(command, { env: { PATH: process.env.PATH ?? '' } });
  if (code !== 0) throw new Error(`openssl: ${stderr}`);
  return { certPath, keyPath, cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') };
}
