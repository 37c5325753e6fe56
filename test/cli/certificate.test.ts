import { expect, test } from 'bun:test';
import { dateWarning, readCertificate } from '../../src/cli/certificate.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';

const DAY_MS = 86_400_000;

test.skipIf(LACKS_OPENSSL !== undefined)(
  'a certificate has dates, and outside of them a warning (needs openssl)',
  async () => {
    using directory = temporaryDirectory();
    const { certPath, keyPath, cert, key } = await createCertificate(directory.path, 'dated', ['-days', '2']);
    const certificate = readCertificate({ certPath, keyPath });
    expect(certificate).toMatchObject({ cert, key });
    const { validFromMs, expiresMs } = certificate;
    expect(expiresMs - validFromMs).toBe(2 * DAY_MS);
    expect(Math.abs(validFromMs - Date.now())).toBeLessThan(DAY_MS);
    expect(dateWarning(certificate, validFromMs)).toBeUndefined();
    expect(dateWarning(certificate, expiresMs - 1)).toBeUndefined();
    expect(dateWarning(certificate, expiresMs)).toBe(
      `the certificate of --tls-cert expired at ${new Date(expiresMs).toISOString()}, and clients refuse it: renew it, then send SIGHUP`,
    );
    expect(dateWarning(certificate, validFromMs - 1)).toMatch(
      / is not valid before .*: check the clock of this machine$/,
    );
  },
);
