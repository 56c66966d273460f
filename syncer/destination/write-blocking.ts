import { askPrimary, askServer } from '../../mongo/ask-server.ts';
import { writeNoop } from '../../mongo/cluster-time.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { earlierConnections } from '../../mongo/earlier-connections.ts';
import { commandsWorkedOn } from '../../mongo/own-operations.ts';
import { commandDeadlineMs, runCommand } from '../../mongo/run-command.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import type { ClusterName, StartOptions } from '../options/command-bodies.ts';
import type { SyncView } from '../store/records.ts';
import type { DestinationKind } from './destination-kind.ts';

/** How often to ask a server whether earlier changes have ended. */
const pollMs = 50;

/** How long a router may take to list its operations. */
const routerDeadlineMs = 2_000;

/**
 * Blocks or unblocks the writes of ordinary users on a cluster, once it has ended earlier changes of that: a process that was
 * killed may have sent the opposite, and its server may still be carrying that out. Users with the action
 * bypassWriteBlockingMode always may write. The server accepts the mode that it already has.
 * @param assertMaySend - throws if this process may no longer do it, because it was frozen meanwhile. Undefined while no sync
 * is under way.
 * @throws SyncError ClusterUnreachable if earlier changes take long: to be retried.
 */
export async function setWriteBlocking(
  cluster: ClusterClient,
  isBlocked: boolean,
  signal: AbortSignal,
  assertMaySend: () => void = () => undefined,
): Promise<void> {
  await awaitEarlierBlocking(cluster, signal);
  // On a connection that has seen its server step down and come back, a server (6.0.5) fails the same mode a second time
  // permanently, until something is written there.
  await writeNoop(cluster, 'write blocking', signal);
  const command = checkedWhenSent({ setUserWriteBlockMode: 1, global: isBlocked }, assertMaySend);
  await runCommand(cluster.admin, command, { signal });
}

/** Waits until no change of who may write is on its way to a cluster, or under way there, whichever process sent it. */
async function awaitEarlierBlocking(cluster: ClusterClient, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.timeout(commandDeadlineMs);
  for (;;) {
    const connections = await earlierConnections(cluster, signal);
    if (connections === 0 && (await blockingUnderWay(cluster, signal)) === 0) return;
    if (deadline.aborted) {
      throw new SyncError(
        'ClusterUnreachable',
        'the cluster has not completed an earlier change of write blocking',
      );
    }
    await sleep(pollMs, signal);
  }
}

/** Does not wait for a router that is slow to answer: the ends of connections tell what this instance has sent there. */
async function blockingUnderWay(
  { admin, decoded, routers }: ClusterClient,
  signal: AbortSignal,
): Promise<number> {
  const command = 'setUserWriteBlockMode';
  if (!routers.areThere) return await commandsWorkedOn(askPrimary(admin), command, signal);
  const soon = AbortSignal.any([signal, AbortSignal.timeout(routerDeadlineMs)]);
  const counts = await Promise.all(
    routers.all.map(async (address) => {
      try {
        return await commandsWorkedOn(askServer(decoded, address), command, soon);
      } catch (error) {
        signal.throwIfAborted();
        if (!soon.aborted && !isTransient(error)) throw error;
        return 0;
      }
    }),
  );
  return counts.reduce((sum, one) => sum + one, 0);
}

/** Who may write to the destination, according to the options of the sync. */
export class DestinationBlocking {
  readonly #parts: BlockingParts;

  constructor(parts: BlockingParts) {
    this.#parts = parts;
  }

  /**
   * Blocks ordinary users if the sync requires it; otherwise warns if something else has blocked them. Retried until it
   * succeeds.
   */
  async begin(): Promise<void> {
    await this.#parts.step('write blocking', async () => {
      if (this.#parts.options.enableUserWriteBlocking) await this.set(true);
      else await this.#warnOfOthers();
    });
  }

  /** Blocks or unblocks ordinary users as {@link setWriteBlocking} does. */
  async set(isBlocked: boolean): Promise<void> {
    const { deployment, requireLease, signal } = this.#parts;
    await setWriteBlocking(deployment, isBlocked, signal, requireLease);
  }

  async #warnOfOthers(): Promise<void> {
    const { kind, options, signal, warn } = this.#parts;
    try {
      if (!(await kind.isWriteBlocked(signal))) return;
    } catch (error) {
      // Without write blocking a sync does not require the privilege to look.
      if (codeOf(error) === serverCode.unauthorized) return;
      throw error;
    }
    await warn(
      `writes by ordinary users were blocked on ${options.destination} before this sync, and stay blocked, even after its commit: { setUserWriteBlockMode: 1, global: false } unblocks them`,
    );
  }
}

/** What blocking users on the destination needs. */
interface BlockingParts {
  readonly deployment: ClusterClient;
  readonly kind: DestinationKind;
  readonly options: Pick<StartOptions, 'destination' | 'enableUserWriteBlocking'>;
  readonly requireLease: () => void;
  readonly warn: (warning: string) => Promise<void>;
  /** See Destination.step. */
  readonly step: (work: string, run: () => Promise<void>) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * The clusters where ordinary users cannot write because of a sync, according to its record: a cluster is never blocked before
 * the record says so.
 */
export function blockedClusters(
  record: Pick<SyncView, 'state' | 'phase' | 'options' | 'canWrite'>,
): ClusterName[] {
  const { options, state, phase, canWrite } = record;
  if (!options.enableUserWriteBlocking) return [];
  const isSourceBlocked = state === 'COMMITTING' || state === 'COMMITTED' || phase === 'handover';
  return [...(isSourceBlocked ? [options.source] : []), ...(canWrite ? [] : [options.destination])];
}

/** Says where ordinary users cannot write; undefined if they can write everywhere. */
export function blockedText(record: Parameters<typeof blockedClusters>[0]): string | undefined {
  const names = blockedClusters(record);
  return names.length === 0
    ? undefined
    : `writes by ordinary users are blocked on ${names.join(' and ')}`;
}

/** The same error, which also says where ordinary users cannot write. */
export function withBlocked(error: SyncError, blocked: string | undefined): SyncError {
  if (blocked === undefined) return error;
  return new SyncError(error.name, `${error.message}; ${blocked}`, { cause: error });
}
