import { naming } from '../../mongo/named-error.ts';
import { retrying } from '../../mongo/retrying.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { millisecondsBetween, momentNow } from '../../service/moment.ts';
import { setWriteBlocking } from '../destination/write-blocking.ts';
import type { CheckAnswer } from '../../sync-api/json.ts';
import { optionsDigest } from '../../sync-api/options-digest.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import {
  parseStart,
  parseStartBody,
  type StartOptions,
  type StartRequest,
} from '../options/command-bodies.ts';
import { requireShares } from '../options/limit-shares.ts';
import { CheckSubject } from '../preflight/check-subject.ts';
import { checkEverything, type CheckSettings } from '../preflight/full-check.ts';
import { otherSync, requireStart } from '../preflight/preflight.ts';
import { estimateTotalBytes } from '../source/source-catalog.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { requireSameOptions, resetError, stateOf } from '../store/instances.ts';
import { reliableMs } from '../store/instance-ownership.ts';
import { newRecord, type SyncRecord, type SyncView } from '../store/records.ts';
import type { Sync } from './sync.ts';

/** What a start needs of the process that was given it. */
export interface StartParts {
  /** The sync that the process already has, if any. */
  readonly known: Sync | undefined;
  /** @throws SyncError while the stored state has not been read. */
  readonly needPair: () => ClusterPair;
  /** Makes a stored record the sync of the process. */
  readonly adopt: (record: SyncRecord, pair: ClusterPair) => Sync;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
}

/**
 * Starts a sync, or joins it if another instance has been given the start. Resolves when ordinary users cannot write to the
 * destination, if that is requested.
 * @param digest - of the start options that the client means; undefined if it does not say.
 * @throws SyncError for anything that forbids it; nothing has been written then, unless users could not be blocked.
 */
export async function startSync(
  body: unknown,
  digest: string | undefined,
  parts: StartParts,
): Promise<void> {
  const { known, logger } = parts;
  if (known) requireSameStart(body, digest, known);
  const pair = parts.needPair();
  known?.requireTaken('start');
  const request = parseStart(body);
  const { options } = request;
  requireDigest(digest, options);
  const sync = await naming(async () => await joinOrCreate(pair, request, parts));
  // Those of the first start: one that joins changes none.
  const { limits } = sync.live.stored;
  logger.info({ options, limits }, 'started');
  try {
    await naming(async () => {
      await blockDestination(pair, sync.live.stored, parts);
    });
  } finally {
    // The sync is stored: if its users could not be blocked, the work reports that too.
    sync.begin();
  }
}

/**
 * A sync that is being reset is soon gone: then the state refuses any start.
 * @throws SyncError DifferentSync if the existing sync was started by another body, or the start is for another sync.
 */
function requireSameStart(body: unknown, digest: string | undefined, sync: Sync): void {
  const { view, live } = sync;
  if (!view || live.resetUnderWay) return;
  const options = optionsOf(body);
  if (options) requireSameOptions(options, view);
  sync.requireDigest(digest);
}

function optionsOf(body: unknown): StartOptions | undefined {
  try {
    return parseStartBody(body);
  } catch {
    // The state refuses a body that could not start any sync.
    return undefined;
  }
}

/** Otherwise every other command of the same client would be refused. @throws SyncError InvalidBody. */
function requireDigest(digest: string | undefined, options: StartOptions): void {
  if (digest === undefined || digest === optionsDigest(options)) return;
  throw new SyncError(
    'InvalidBody',
    'the header Clustersync-Options-Digest is not the digest of this body: omit it, or use a client of the same version',
  );
}

async function joinOrCreate(
  pair: ClusterPair,
  request: StartRequest,
  parts: StartParts,
): Promise<Sync> {
  const { options } = request;
  const joined = await joinSync(pair, options, parts);
  if (joined) return joined;
  try {
    return parts.adopt(await createSync(pair, request, parts), pair);
  } catch (error) {
    // Another instance may have been given the start meanwhile.
    const other = await joinSync(pair, options, parts);
    if (!other) throw error;
    return other;
  }
}

/**
 * Joins a sync whose start another instance has been given.
 * @returns undefined if none waits for this instance.
 * @throws SyncError OtherStartOptions; OtherSyncUnfinished if the destination holds a sync of other clusters; ResetUnderWay;
 * NotAnInstance.
 */
async function joinSync(
  pair: ClusterPair,
  options: StartOptions,
  { adopt }: StartParts,
): Promise<Sync | undefined> {
  const { instanceId } = pair;
  const stored = await pair.recordOn(options.destination).readSync();
  if (stored && !pair.isBetween(stored, options.destination)) throw otherSync(options);
  if (!stored) return undefined;
  pair.requireMember(stored);
  if (stateOf(stored, instanceId) !== 'IDLE') return undefined;
  const resetUnderWay = resetError(stored);
  if (resetUnderWay) throw resetUnderWay;
  requireSameOptions(options, stored, 'OtherStartOptions');
  const sync = adopt(stored, pair);
  await sync.join();
  return sync;
}

/**
 * Stores a new sync. Its first progress already tells how much there is to copy.
 * @returns its record.
 * @throws SyncError for anything that forbids it; nothing has been written then.
 */
async function createSync(
  pair: ClusterPair,
  request: StartRequest,
  { monitor, logger }: StartParts,
): Promise<SyncRecord> {
  const { signal } = pair;
  const { options } = request;
  const started = startedRecord(pair, request);
  await requireStart(new CheckSubject(pair, options), logger);
  const estimatedTotalBytes = await estimateTotalBytes({
    source: pair.deployment(options.source),
    filter: pair.filterOf(options),
    signal,
  });
  const record = { ...started, estimatedTotalBytes };
  const store = pair.recordOn(options.destination);
  await retrying({ signal, logger, monitor }, 'command', async () => {
    await store.createSync(record);
  });
  return record;
}

/** The record of a new sync. @throws SyncError InvalidBody for limits that leave one of its instances too little. */
function startedRecord(
  { topologies, instanceId, ids }: ClusterPair,
  { options, limits }: StartRequest,
): SyncRecord {
  const record = { ...newRecord(options, topologies, instanceId, ids), limits };
  requireShares(limits, record.instances.length);
  return record;
}

/**
 * Blocks ordinary users on the destination, if the sync requires it: its start is answered once they cannot write there. The
 * record comes first, so that a process which takes over the sync knows what is blocked, and blocks it if this one did not get
 * that far.
 * @param record - of the sync that was started.
 * @throws SyncError SupersededByOtherInstance if this process was frozen, and the sync is over or committed by now: users may
 * write to the destination.
 */
async function blockDestination(
  pair: ClusterPair,
  record: SyncRecord,
  { monitor, logger }: StartParts,
): Promise<void> {
  const { clients, signal } = pair;
  const { enableUserWriteBlocking, destination } = record.options;
  if (!enableUserWriteBlocking) return;
  await retrying({ signal, logger, monitor }, 'command', async () => {
    const at = momentNow();
    // A new primary may not know yet that a majority has the record.
    const stored = await pair.recordOn(destination).readSyncOfPrimary();
    const isSame = stored?.startedAt.getTime() === record.startedAt.getTime();
    const isRunning = isSame && stored.state === 'RUNNING' && stored.reset === null;
    // While a reversal begins, it runs again, and users still write to what was its destination.
    if (!isRunning || stored.phase === 'handover' || stored.reversals > 0)
      throw new SyncError(
        'SupersededByOtherInstance',
        'another process has taken over the sync that was started',
      );
    await setWriteBlocking(clients[destination], true, signal, () => {
      if (millisecondsBetween(at, momentNow()) < reliableMs) return;
      throw new SyncError('ClusterUnreachable', 'the start of the sync was confirmed long ago');
    });
  });
}

/**
 * Makes sure that a start would be accepted, or is the one that the sync was started with. Writes nothing.
 * @param known - the sync that this instance has been given, as it is in the store; undefined if there is none.
 * @throws SyncError as {@link startSync} does; NotAnInstance; ResetUnderWay; DifferentSync if the sync was started with other
 * options.
 */
export async function checkStart(
  pair: ClusterPair,
  request: StartRequest,
  known: SyncRecord | undefined,
  logger: Logger,
): Promise<void> {
  const { options } = request;
  const stored = await pair.recordOn(options.destination).readSync();
  if (known) requireAccepted(options, known);
  else if (!stored) {
    startedRecord(pair, request);
    await requireStart(new CheckSubject(pair, options), logger);
  } else if (!pair.isBetween(stored, options.destination)) throw otherSync(options);
  else {
    pair.requireMember(stored);
    requireAccepted(options, stored);
  }
}

function requireAccepted(options: StartOptions, record: SyncRecord): void {
  const resetUnderWay = resetError(record);
  if (resetUnderWay) throw resetUnderWay;
  requireSameOptions(options, record);
}

/**
 * Everything about a start that a person should know before it. Writes nothing, unless the speed of the copy is to be measured.
 * @param known - the sync that this instance has been given; undefined if there is none.
 * @throws SyncError InvalidStateTransition if there is a sync between these clusters already: it is too late then; InvalidBody for
 * limits that leave an instance too little.
 */
export async function checkBeforeStart(
  pair: ClusterPair,
  request: StartRequest,
  known: SyncView | undefined,
  settings: CheckSettings,
  logger: Logger,
): Promise<CheckAnswer> {
  const { options } = request;
  const stored = await pair.recordOn(options.destination).readSync();
  const own = stored && pair.isBetween(stored, options.destination) ? stored : undefined;
  const { state } = known ?? own ?? {};
  if (state !== undefined)
    throw new SyncError(
      'InvalidStateTransition',
      `check is allowed in IDLE, before the start; the state is ${state}`,
    );
  startedRecord(pair, request);
  return await checkEverything(new CheckSubject(pair, options), settings, logger);
}
