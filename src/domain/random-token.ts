import { randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** 256 bits from the system's random source, for URLs and cookies: 43 characters of base64url. */
export function randomToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}
