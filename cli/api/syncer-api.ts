import { objectOf } from '../../service/json-fields.ts';
import { isNotServed } from '../../sync-api/answer-error.ts';
import { readCheck, type ReportedCheck } from '../../sync-api/check-answer.ts';
import { readSyncerCommand } from '../../sync-api/command-answer.ts';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import type { Limits, RepairBody, ResetBody, StartBody } from '../../sync-api/json.ts';
import {
  readCollections,
  readProgress,
  type ReportedCollections,
  type ReportedProgress,
} from '../../sync-api/syncer-answers.ts';
import type { ApiClient } from './api-client.ts';

/** The commands without parameters. */
export type SyncerCommand = 'pause' | 'resume' | 'commit' | 'reverse';

const nothingListed: ReportedCollections = { collections: [], total: 0, copied: 0 };

/** The API of one syncer. */
export class SyncerApi {
  readonly #client: ApiClient;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param digest - of the start options of the sync that commands are for; undefined for any sync. */
  constructor(client: ApiClient, digest?: string) {
    this.#client = client;
    this.#headers = digest === undefined ? {} : { [optionsDigestHeader]: digest };
  }

  async progress(signal: AbortSignal): Promise<ReportedProgress> {
    const read = (body: unknown): ReportedProgress | undefined =>
      readProgress(objectOf(body)['progress']);
    return await this.#client.get('progress', read, signal);
  }

  async collections(signal: AbortSignal): Promise<ReportedCollections> {
    const answer = await this.#client.ask('collections', signal);
    // Another tool with the same API need not have it.
    if (isNotServed(answer.status)) return nothingListed;
    return this.#client.read(answer, readCollections);
  }

  /** Whether a start with this body would be accepted, or is the one that the sync was started with. */
  async preflight(body: StartBody, signal: AbortSignal): Promise<void> {
    await this.#client.command({ name: 'preflight', body, read: readSyncerCommand }, signal);
  }

  /** Everything that would prevent or disturb a start with this body. */
  async check(
    body: StartBody,
    { measureCopy }: { readonly measureCopy: boolean },
    signal: AbortSignal,
  ): Promise<ReportedCheck> {
    const path = measureCopy ? 'check?measureCopy=true' : 'check';
    return await this.#client.post(path, body, readCheck, signal);
  }

  async start(body: StartBody, signal: AbortSignal): Promise<void> {
    await this.#give('start', body, signal);
  }

  async command(command: SyncerCommand, signal: AbortSignal): Promise<void> {
    await this.#give(command, {}, signal);
  }

  /** Begins a sync again, also one that has stopped, with the documents that the destination has. */
  async repair(body: RepairBody, signal: AbortSignal): Promise<void> {
    await this.#give('repair', body, signal);
  }

  /** Replaces the limits of the sync. */
  async limits(body: Limits, signal: AbortSignal): Promise<void> {
    await this.#give('limits', body, signal);
  }

  /** Ends the sync for good. */
  async reset(body: ResetBody, signal: AbortSignal): Promise<void> {
    await this.#client.command({ name: 'reset', body, read: readSyncerCommand }, signal);
  }

  async #give(name: string, body: object, signal: AbortSignal): Promise<void> {
    const headers = this.#headers;
    await this.#client.command({ name, body, headers, read: readSyncerCommand }, signal);
  }
}
