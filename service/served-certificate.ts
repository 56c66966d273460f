import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { SyncError, messageOf } from './errors.ts';
import type { Logger } from './logger.ts';
import type { OptionTable } from './options.ts';
import { sleep } from './sleep.ts';
import { readRegularFile } from './text-file.ts';

/** The options of a program that can serve HTTPS. */
export const certificateOptions = {
  tlsCertificateFile: {
    type: 'string',
    valueName: 'file',
    description: 'PEM file with the certificate for HTTPS; by default HTTP is used',
  },
  tlsKeyFile: {
    type: 'string',
    valueName: 'file',
    description:
      'PEM file with the private key of the certificate; both files may be replaced at runtime',
  },
} as const satisfies OptionTable;

/** The files of a certificate. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** A server's certificate and the key that proves it. PEM. */
interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** Kubernetes writes a replaced Secret into a pod within a minute or so: this adds little to that. */
const lookAgainMs = 2_000;

/**
 * The files that the options name; undefined for HTTP.
 * @throws SyncError InvalidOption if only one of both is given.
 */
export function certificateFiles(options: {
  readonly tlsCertificateFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
}): CertificateFiles | undefined {
  const { tlsCertificateFile: certificateFile, tlsKeyFile: keyFile } = options;
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile === undefined || keyFile === undefined) {
    throw new SyncError('InvalidOption', '--tlsCertificateFile and --tlsKeyFile go together');
  }
  return { certificateFile, keyFile };
}

/**
 * Reads a certificate and its key.
 * @throws SyncError InvalidOption if they cannot be read or do not belong together.
 */
export function readCertificate(files: CertificateFiles): CertificatePair {
  try {
    return readPair(files);
  } catch (error) {
    if (error instanceof SyncError) throw error;
    const description = `--tlsCertificateFile, --tlsKeyFile: ${messageOf(error)}`;
    throw new SyncError('InvalidOption', description, { cause: error });
  }
}

/**
 * Presents replaced certificate files to new connections, until the signal is aborted. If they cannot be used, that is logged,
 * and the previous certificate stays.
 */
export async function followCertificate(
  { server, files, served }: FollowedCertificate,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  let known = served;
  let lastReason: string | undefined;
  for (;;) {
    try {
      await sleep(lookAgainMs, signal);
    } catch {
      return;
    }
    try {
      const next = readPair(files);
      lastReason = undefined;
      if (next.cert === known.cert && next.key === known.key) continue;
      server.setSecureContext(next);
      known = next;
      logger.info('the certificate has been replaced');
    } catch (error) {
      // Only one of the two files may have been replaced yet.
      const description = messageOf(error);
      if (description !== lastReason) {
        logger.warn({ err: error }, 'the replaced certificate cannot be used yet');
      }
      lastReason = description;
    }
  }
}

/** A server, and the certificate that it presents. */
export interface FollowedCertificate {
  readonly server: Server;
  readonly files: CertificateFiles;
  readonly served: CertificatePair;
}

function readPair({ certificateFile, keyFile }: CertificateFiles): CertificatePair {
  const cert = readRegularFile({ path: certificateFile, option: '--tlsCertificateFile' });
  const key = readRegularFile({ path: keyFile, option: '--tlsKeyFile' });
  createSecureContext({ cert, key });
  return { cert, key };
}
