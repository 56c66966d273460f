import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from './errors.ts';

/** Whether a text is a PEM certificate. node:tls does not report it: it ignores what it cannot read. */
export function isCertificate(text: string): boolean {
  try {
    new X509Certificate(text);
    return true;
  } catch {
    return false;
  }
}

/** Why a certificate and a private key cannot be used together; undefined if they can. */
export function pairProblem(certificate: string, key: string): string | undefined {
  try {
    createSecureContext({ cert: certificate, key });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
