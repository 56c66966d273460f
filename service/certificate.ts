import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from './errors.ts';

/** Whether a text is one or several PEM certificates, and each can be read: node:tls ignores one that cannot, and what follows it. */
export function isCertificate(text: string): boolean {
  const blocks = text.match(pemCertificate) ?? [];
  const begun = text.split(beginning).length - 1;
  return (
    begun > 0 && blocks.length === begun && blocks.every((block) => endMs(block) !== undefined)
  );
}

/**
 * When no certificate of a PEM text is valid any longer, in milliseconds since 1970; undefined if it has none that can be read. Of
 * several, such as authorities old and new, the last one counts.
 */
export function expiryMs(text: string): number | undefined {
  const ends = (text.match(pemCertificate) ?? []).map(endMs).filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

const beginning = '-----BEGIN CERTIFICATE-----';
const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Undefined if it cannot be read. */
function endMs(certificate: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(certificate).validTo);
  } catch {
    return undefined;
  }
}

/** Why a certificate and a private key cannot be used together; undefined if they can. The key must not be encrypted. */
export function pairProblem(certificate: string, key: string): string | undefined {
  if (encryptedKey.test(key)) return 'the private key is encrypted: remove its password';
  try {
    createSecureContext({ cert: certificate, key });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** PKCS #8, and the older form with a header. */
const encryptedKey = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;
