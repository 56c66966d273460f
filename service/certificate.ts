import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from './errors.ts';

/** When a certificate is valid, in milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * When the certificates of a PEM text are valid, in their order; undefined if it has none, or one that cannot be read: node:tls
 * ignores that one, and what follows it.
 */
export function validities(text: string): Validity[] | undefined {
  const begun = text.split(beginning).length - 1;
  const found = (text.match(pemCertificate) ?? []).map(validityOf);
  const read = found.filter((each) => each !== undefined);
  return begun > 0 && read.length === begun ? read : undefined;
}

const beginning = '-----BEGIN CERTIFICATE-----';
const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Undefined if it cannot be read. */
function validityOf(certificate: string): Validity | undefined {
  try {
    const { validFrom, validTo } = new X509Certificate(certificate);
    return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
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
