import type { SyncLook } from '../../dashboard/server/dashboard.ts';
import type { CollectionsView, EventsView, MismatchView } from '../../dashboard/api/sync-view.ts';
import { allCopied } from '../../sync-api/syncer-answers.ts';
import type { ClusterSync, OperandOptions } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { instancesOf, syncerName, syncerPort } from '../clustersync/resources.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { isConditionTrue } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/resource.ts';
import { apiTrust, serverNameOf, targetOf } from '../operand/api-trust.ts';
import type { callOperand } from '../operand/http-api.ts';
import type { OperandKind } from '../operand/names.ts';
import type { OperandStore } from '../operand/operand-store.ts';
import { podState } from '../operand/pod-state.ts';
import { verifierName, verifierPodName, verifierPort } from '../verification/resources.ts';
import { collectionsOf, detailOf, mismatchesOf } from './sync-detail.ts';

/** What observing one sync needs. */
export interface SyncLookOptions {
  /** Its current state. */
  readonly sync: () => ClusterSync | undefined;
  readonly verifications: () => readonly SyncVerification[];
  readonly store: Pick<OperandStore, 'pods' | 'secrets'>;
  readonly call: typeof callOperand;
  /** Whether it is known which pods are in a namespace: otherwise their addresses may belong to other pods by now. */
  readonly isKnown: (namespace: string) => boolean;
  /** Reads the events of an object, in any order. */
  readonly eventsOf: (object: KubeObject, signal: AbortSignal) => Promise<EventsView>;
  readonly clock?: Clock;
}

const deadlineMs = 2_000;
/** Costly answers are requested less often. */
const seldomMs = 5_000;
/** How many differences are shown: the report has all. */
const shownMismatches = 100;
const shownEvents = 50;

/** A ClusterSync that a page shows: asks its pods for what only they know. */
export class OperatorSyncLook implements SyncLook {
  readonly #options: SyncLookOptions;
  #collections: CollectionsView | null = null;
  #mismatches: ReadonlyMap<string, readonly MismatchView[]> = new Map();
  #events: EventsView = { shown: [], hasMore: false };
  #askedSeldomAtMs = -Infinity;

  constructor(options: SyncLookOptions) {
    this.#options = options;
  }

  read = async (signal: AbortSignal) => {
    const sync = this.#options.sync();
    if (!sync) return undefined;
    const verifications = this.#options.verifications();
    const { clock = systemClock } = this.#options;
    const nowMs = clock.monotonicMs();
    const isDue = nowMs - this.#askedSeldomAtMs >= seldomMs;
    if (isDue) this.#askedSeldomAtMs = nowMs;
    await Promise.all([
      this.#askForCollections(sync, signal),
      ...(isDue
        ? [
            this.#askForMismatches(verifications, signal),
            this.#askForEvents([sync, ...verifications], signal),
          ]
        : []),
    ]);
    return detailOf(sync, verifications, {
      collections: this.#collections,
      mismatches: this.#mismatches,
      events: this.#events,
    });
  };

  async #askForCollections(sync: ClusterSync, signal: AbortSignal): Promise<void> {
    // Once everything is known to be copied they no longer change.
    if (this.#collections !== null && sync.status?.phase !== 'InitialCopy') {
      const { copied, total, unknownInstances } = this.#collections;
      if (copied === total && unknownInstances === 0) return;
    }
    const pods = instancesOf(sync).map(({ podName }) => podName);
    const operand = {
      kind: 'syncer',
      name: syncerName(sync),
      port: syncerPort,
      options: sync.spec.syncer,
    } as const;
    const answers = await this.#ask(sync, pods, operand, '/api/v1/collections', signal);
    const listed = collectionsOf(answers, pods.length);
    if (!listed) return;
    const isCopyDone = isConditionTrue(sync.status?.conditions, 'InitialCopyDone');
    this.#collections = isCopyDone ? allCopied(listed) : listed;
  }

  async #askForMismatches(
    verifications: readonly SyncVerification[],
    signal: AbortSignal,
  ): Promise<void> {
    const found = await Promise.all(
      verifications.map(async (verification) => {
        const { name } = verification.metadata;
        if ((verification.status?.mismatches?.total ?? 0) === 0) return [];
        const operand = {
          kind: 'verifier',
          name: verifierName(verification),
          port: verifierPort,
          options: verification.spec.verifier,
        } as const;
        const path = `/api/v1/mismatches?limit=${shownMismatches}`;
        const pods = [verifierPodName(verification)];
        const [answer] = await this.#ask(verification, pods, operand, path, signal);
        const former = this.#mismatches.get(name);
        const list = answer === undefined ? former : mismatchesOf(answer);
        return list ? [[name, list] as const] : [];
      }),
    );
    this.#mismatches = new Map(found.flat());
  }

  async #askForEvents(objects: readonly KubeObject[], signal: AbortSignal): Promise<void> {
    const { eventsOf } = this.#options;
    const lists = await Promise.all(
      objects.map(async (object) => await eventsOf(object, signal).catch(() => undefined)),
    );
    signal.throwIfAborted();
    const known = lists.filter((list) => list !== undefined);
    if (known.length < lists.length) return;
    const all = known.flatMap(({ shown }) => shown);
    this.#events = {
      shown: all.sort((one, other) => other.at.localeCompare(one.at)).slice(0, shownEvents),
      hasMore: all.length > shownEvents || known.some(({ hasMore }) => hasMore),
    };
  }

  /** The answers of the pods that have answered. */
  async #ask(
    owner: KubeObject,
    podNames: readonly string[],
    { kind, name, port, options }: OperandAddress,
    path: string,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const { store, call, isKnown } = this.#options;
    if (!isKnown(owner.metadata.namespace ?? '')) return [];
    const running = [...store.pods(owner, podNames).values()]
      .map((pod) => podState(pod, kind))
      .filter(({ process }) => process !== undefined);
    if (running.length === 0) return [];
    // The API server is unreachable now, or no operator has led yet: the next attempt may succeed.
    const asked = { sides: undefined, options };
    const secrets = await store.secrets(owner, asked, signal).catch(() => undefined);
    if (!secrets) return [];
    const { authority, token } = secrets;
    const trust = apiTrust(options, authority, serverNameOf(name, owner.metadata));
    const targets = running.flatMap((pod) => targetOf(pod, { port, token, trust }) ?? []);
    const answers = await Promise.all(
      targets.map(
        async (target) => await call(target, { method: 'GET', path, deadlineMs }, signal),
      ),
    );
    return answers.flatMap((answer) =>
      answer.kind === 'answer' && answer.status === 200 ? [answer.body] : [],
    );
  }
}

interface OperandAddress {
  readonly kind: OperandKind;
  readonly name: string;
  readonly port: number;
  readonly options: OperandOptions;
}
