import { createHmac, randomBytes } from 'node:crypto';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import { secrets, type Secret } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict, KubeError } from '../kube/kube-error.ts';
import { objectKey, type KubeObject, type ObjectRef } from '../kube/resource.ts';

/** In the Secret: the key that tokens are derived from, in base64. */
const dataKey = 'key';
const keyBytes = 32;
/** Changes with the derivation of tokens. */
const scheme = 'clustersync-api-token-1';
const retryMs = 1_000;

/** Answers of the API server that do not change until somebody intervenes. */
const lastingStatuses: readonly (number | undefined)[] = [401, 403, 404, 422];

/**
 * The API token of a resource's syncers or verifiers. Every resource has another one, even if it is created again with the same name.
 * @param key - 32 random bytes, which only the operator has.
 */
export function tokenOf(key: Buffer, { kind, metadata }: KubeObject): string {
  return createHmac('sha256', key)
    .update(`${scheme}/${kind}/${metadata.uid ?? ''}`)
    .digest('hex');
}

/**
 * The key from which the tokens of all APIs are derived. It is in one Secret of the operator's own namespace, which is installed
 * empty: the operator creates no Secret, and writes no other one.
 */
export class TokenKey {
  readonly #client: KubeClient;
  readonly #ref: ObjectRef;
  readonly #logger: Logger;
  #key: Buffer | undefined;

  constructor(client: KubeClient, ref: ObjectRef, logger: Logger) {
    this.#client = client;
    this.#ref = ref;
    this.#logger = logger;
  }

  /**
   * Reads the key, and creates it if the Secret is empty: of two operators that do so, one writes it, and both read it. Waits for an API
   * server that does not answer.
   * @throws SyncError InvalidOption if there is no such Secret, or it contains something else.
   * @throws KubeError if the operator may not read or write it.
   */
  async establish(signal: AbortSignal): Promise<Buffer> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const secret = await this.#read(signal);
        const key = this.#key ?? (await this.#fill(secret, signal));
        this.#key = key;
        return key;
      } catch (error) {
        if (isConflict(error)) continue;
        if (!(error instanceof KubeError) || lastingStatuses.includes(error.statusCode))
          throw error;
        this.#logger.warn({ err: error }, `the Secret ${objectKey(this.#ref)} cannot be read`);
        await sleep(retryMs, signal);
      }
    }
  }

  /** The key, as first read. Rejects like {@link establish}, even if it was not created yet, and if the API server does not answer. */
  async get(signal: AbortSignal): Promise<Buffer> {
    if (!this.#key) await this.#read(signal);
    if (!this.#key) throw new Error('no operator has created the key of the API tokens yet');
    return this.#key;
  }

  async #read(signal: AbortSignal): Promise<Secret> {
    const secret = await this.#client.find(secrets, this.#ref, { signal });
    const name = objectKey(this.#ref);
    if (!secret)
      throw new SyncError(
        'InvalidOption',
        `--apiKeySecret: there is no Secret ${name}; create an empty one`,
      );
    const encoded = secret.data?.[dataKey];
    const key = encoded === undefined ? undefined : Buffer.from(encoded, 'base64');
    if (key && key.length !== keyBytes)
      throw new SyncError(
        'InvalidOption',
        `--apiKeySecret: ${dataKey} of the Secret ${name} has ${key.length} bytes, not ${keyBytes}; remove it to have a new one created`,
      );
    this.#key = key;
    return secret;
  }

  async #fill(secret: Secret, signal: AbortSignal): Promise<Buffer> {
    const key = randomBytes(keyBytes);
    const data = { ...secret.data, [dataKey]: key.toString('base64') };
    // With the version that was read: a key that somebody else has created by now is not replaced.
    await this.#client.replace(secrets, { ...secret, data }, { signal });
    return key;
  }
}
