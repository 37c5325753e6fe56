import { expect, test } from 'bun:test';
import { certificateFault, certificateWarning, readCertificate } from '../../src/cli/certificate.ts';
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
    const faultAt = (nowMs: number) => certificateFault(certificate, nowMs, undefined);
    expect(faultAt(validFromMs)).toBeUndefined();
    expect(faultAt(expiresMs - 1)).toBeUndefined();
    expect(faultAt(expiresMs)).toBe(
      `the certificate of --tls-cert expired at ${new Date(expiresMs).toISOString()}, and clients refuse it: renew it, then send SIGHUP`,
    );
    expect(faultAt(validFromMs - 1)).toMatch(/ is not valid before .*: check the clock of this machine$/);
  },
);

test.skipIf(LACKS_OPENSSL !== undefined).each([
  [2, 2 / 3],
  [30, 10],
  [90, 14],
  [365, 14],
])('The warning of a certificate of %d days begins %d days before its end. (needs openssl)', async (days, before) => {
  using directory = temporaryDirectory();
  const { certPath, keyPath } = await createCertificate(directory.path, 'dated', ['-days', String(days)]);
  const certificate = readCertificate({ certPath, keyPath });
  const warningAt = (nowMs: number) => certificateWarning(certificate, nowMs, undefined);
  const beginMs = certificate.expiresMs - before * DAY_MS;
  expect(warningAt(beginMs)).toBeUndefined();
  expect(warningAt(beginMs + 1)).toMatch(/^the certificate of --tls-cert expires at .*Z: renew it, then send SIGHUP$/);
  expect(warningAt(certificate.expiresMs)).toContain(' expired at ');
});
