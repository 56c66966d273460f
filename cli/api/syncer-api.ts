import { SyncError } from '../../service/errors.ts';
import { optionsDigestHeader } from '../../service/options-digest.ts';
import type { ApiClient } from './api-client.ts';
import { arrayOf, numberOf, objectOf, textOf, textsOf, type JsonObject } from './json-fields.ts';

/** States of a sync, in the order in which it goes through them. */
export const syncStates = ['IDLE', 'PAUSED', 'RUNNING', 'COMMITTING', 'COMMITTED'] as const;
export type SyncState = (typeof syncStates)[number];

/** The commands without parameters. */
export type SyncerCommand = 'pause' | 'resume' | 'commit' | 'reverse';

/** What an instance says of itself. Null is what it does not know, or does not say. */
export interface InstanceProgress {
  readonly state: SyncState;
  readonly startedAt: string | null;
  /** How many times the sync was reversed. */
  readonly reversals: number | null;
  readonly canCommit: boolean;
  /** True until a commit is refused or completed; false where it is proven that none is under way; null where neither is known. */
  readonly commitUnderWay: boolean | null;
  readonly canWrite: boolean | null;
  readonly info: string | null;
  readonly lagSeconds: number | null;
  readonly totalBytes: number | null;
  readonly copiedBytes: number | null;
  readonly source: string | null;
  readonly destination: string | null;
  readonly syncerId: string | null;
  readonly coordinatorId: string | null;
  readonly eventsApplied: number | null;
  readonly catchUpSeconds: number | null;
  readonly oplogSeconds: number | null;
  readonly indexes: IndexProgress | null;
  readonly warnings: readonly string[];
  /** As it was received. */
  readonly raw: JsonObject;
}

/** The building of indexes after the copy. */
export interface IndexProgress {
  readonly built: number;
  readonly total: number;
}

/** What an instance copies of a collection. */
export interface CollectionCopy {
  readonly namespace: string;
  readonly totalBytes: number;
  readonly copiedBytes: number;
  readonly isCopied: boolean;
}

/** The collections that an instance copies: the first of them, and how many there are. */
export interface CollectionList {
  readonly collections: readonly CollectionCopy[];
  readonly total: number;
  readonly copied: number;
}

const nothingListed: CollectionList = { collections: [], total: 0, copied: 0 };

/** What `info` says while documents are copied. */
export const copyInfo = 'collection copy';

/** The API of one syncer. */
export class SyncerApi {
  readonly #client: ApiClient;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param digest - of the start options of the sync that commands are for; undefined for whichever there is. */
  constructor(client: ApiClient, digest?: string) {
    this.#client = client;
    this.#headers = digest === undefined ? {} : { [optionsDigestHeader]: digest };
  }

  async progress(signal: AbortSignal): Promise<InstanceProgress> {
    return readProgress(await this.#client.get('progress', signal));
  }

  async collections(signal: AbortSignal): Promise<CollectionList> {
    let answer: JsonObject;
    try {
      answer = await this.#client.get('collections', signal);
    } catch (error) {
      // Another tool with the same API need not have it.
      if (error instanceof SyncError && error.name === 'NotFound') return nothingListed;
      throw error;
    }
    return {
      collections: arrayOf(answer['collections']).map(objectOf).map(readCollection),
      total: numberOf(answer['total']) ?? 0,
      copied: numberOf(answer['copied']) ?? 0,
    };
  }

  /** Whether a start of this body would be taken, or is the one that the sync was started with. */
  async preflight(body: object, signal: AbortSignal): Promise<void> {
    await this.#client.post('preflight', body, signal);
  }

  async start(body: object, signal: AbortSignal): Promise<void> {
    await this.#client.post('start', body, signal, this.#headers);
  }

  async command(command: SyncerCommand, signal: AbortSignal): Promise<void> {
    await this.#client.post(command, {}, signal, this.#headers);
  }

  /** Ends the sync for good. @param destination - Keep, Unblock or Clean. */
  async reset(destination: string, signal: AbortSignal): Promise<void> {
    await this.#client.post('reset', { destination }, signal);
  }
}

/** Reads an answer of GET /progress. */
export function readProgress(answer: JsonObject): InstanceProgress {
  const raw = objectOf(answer['progress']);
  const copy = objectOf(raw['collectionCopy']);
  const mapping = objectOf(raw['directionMapping']);
  const indexes = objectOf(raw['indexBuilding']);
  const state = syncStates.find((each) => each === raw['state']) ?? 'IDLE';
  const canCommit = raw['canCommit'] === true;
  const [built, total] = [
    numberOf(indexes['indexesBuilt']),
    numberOf(indexes['totalIndexesToBuild']),
  ];
  return {
    state,
    startedAt: textOf(raw['startedAt']),
    reversals: numberOf(raw['reversals']),
    canCommit,
    commitUnderWay: commitUnderWayIn(raw, state, canCommit),
    canWrite: typeof raw['canWrite'] === 'boolean' ? raw['canWrite'] : null,
    info: textOf(raw['info']),
    lagSeconds: numberOf(raw['lagTimeSeconds']),
    totalBytes: numberOf(copy['estimatedTotalBytes']),
    copiedBytes: numberOf(copy['estimatedCopiedBytes']),
    source: textOf(mapping['Source']),
    destination: textOf(mapping['Destination']),
    syncerId: textOf(raw['syncerID']),
    coordinatorId: textOf(raw['coordinatorID']),
    eventsApplied: numberOf(raw['totalEventsApplied']),
    catchUpSeconds: numberOf(raw['estimatedSecondsToCatchUp']),
    oplogSeconds: numberOf(raw['estimatedOplogTimeRemainingSeconds']),
    indexes: built === null || total === null ? null : { built, total },
    warnings: textsOf(raw['warnings']),
    raw,
  };
}

function commitUnderWayIn(raw: JsonObject, state: SyncState, canCommit: boolean): boolean | null {
  if (state === 'IDLE' || state === 'COMMITTED') return false;
  if (state === 'COMMITTING') return true;
  const told = raw['commitUnderWay'];
  // A tool that does not tell: a commit request will succeed, or none does, so that none is under way.
  if (told === undefined) return canCommit || state === 'PAUSED' ? false : null;
  return typeof told === 'boolean' ? told : null;
}

function readCollection(one: JsonObject): CollectionCopy {
  return {
    namespace: textOf(one['namespace']) ?? '',
    totalBytes: numberOf(one['estimatedTotalBytes']) ?? 0,
    copiedBytes: numberOf(one['estimatedCopiedBytes']) ?? 0,
    isCopied: one['isCopied'] === true,
  };
}
