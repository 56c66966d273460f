import { configMaps, secrets } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { PacedTurns } from '../kube/paced-turns.ts';
import { objectKey, type ObjectRef } from '../kube/resource.ts';
import type { SecretKey } from './credentials.ts';

/** How long an object stays fresh. */
const foundMs = 15_000;
const missingMs = 3_000;
/** An immutable one can only be deleted. */
const immutableMs = 300_000;
/** With many of them each is read less often: twenty a second, all together, shared fairly among namespaces. */
const sharedMs = 50;
const burst = 20;
/** How much of its values is kept, as base64: connection strings and certificates are shorter. */
const maxKeptLength = 32 * 1024;
const maxKeptKeys = 128;
/** What nobody has asked for in this time is forgotten: its owner is gone. Longer than the longest resync. */
const unusedMs = 900_000;

/** Which Secret, or ConfigMap. */
export interface ReadRef extends ObjectRef, Pick<SecretKey, 'kind'> {}

/** In base64, by their keys: whatever these are, such as `constructor`. */
type Values = ReadonlyMap<string, string>;

/** What both kinds have. */
interface Found {
  readonly values: Values;
  readonly isImmutable: boolean;
}

interface Entry {
  readonly found: Found | undefined;
  readonly untilMs: number;
  readonly usedMs: number;
}

/**
 * Reads Secrets and ConfigMaps one by one and caches them for some seconds. They are neither listed nor watched, so that the
 * operator needs no right to see those that no resource names.
 */
export class SecretReader {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** The one asked for last comes last. */
  readonly #entries = new Map<string, Entry>();
  /** For those that are known and due to be read again. */
  readonly #turns: PacedTurns;

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#client = client;
    this.#clock = clock;
    this.#turns = new PacedTurns(clock, burst);
  }

  /**
   * Its values in base64, by their keys; undefined if there is none. Keeps 24 KiB of them, the short ones first: the others are empty.
   * @param mayBeOld - whether any earlier read will do, if it existed then.
   */
  async read(ref: ReadRef, signal: AbortSignal, mayBeOld = false): Promise<Values | undefined> {
    const key = `${ref.kind} ${objectKey(ref)}`;
    const known = this.#entries.get(key);
    const usedMs = this.#clock.monotonicMs();
    if (known && !this.#isDue(key, known, usedMs, mayBeOld)) {
      this.#put(key, { ...known, usedMs });
      return known.found?.values;
    }
    const found = await this.#find(ref, signal);
    this.#turns.end(key);
    this.#put(key, { found, untilMs: this.#clock.monotonicMs() + forMs(found), usedMs });
    return found?.values;
  }

  async #find({ kind, ...ref }: ReadRef, signal: AbortSignal): Promise<Found | undefined> {
    if (kind === 'Secret') {
      const secret = await this.#client.find(secrets, ref, { signal });
      return secret && foundIn(secret, secret.data);
    }
    const configMap = await this.#client.find(configMaps, ref, { signal });
    if (!configMap) return undefined;
    const { data = {}, binaryData } = configMap;
    const texts = Object.entries(data).map(([key, text]) => [key, base64Of(text)] as const);
    return foundIn(configMap, { ...Object.fromEntries(texts), ...binaryData });
  }

  #isDue(key: string, { found, untilMs }: Entry, nowMs: number, mayBeOld: boolean): boolean {
    if (nowMs < untilMs || (mayBeOld && found)) return false;
    return this.#turns.waitMs(key, sharedMs) === 0;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const [oldest, { usedMs }] of this.#entries) {
      if (entry.usedMs - usedMs < unusedMs) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#entries.delete(key);
    this.#turns.end(key);
  }
}

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64');
}

function forMs(found: Found | undefined): number {
  if (!found) return missingMs;
  return found.isImmutable ? immutableMs : foundMs;
}

/** Drops the rest: an object may have a megabyte of values and metadata, and hundreds of them are cached. */
function foundIn(
  { immutable }: { readonly immutable?: boolean },
  data: Readonly<Record<string, string>> = {},
): Found {
  let length = 0;
  const values = Object.entries(data)
    .toSorted(([, one], [, other]) => one.length - other.length)
    .slice(0, maxKeptKeys)
    .map(([key, value]) => {
      length += value.length;
      return [key, length <= maxKeptLength ? value : ''] as const;
    });
  return { values: new Map(values), isImmutable: immutable === true };
}
