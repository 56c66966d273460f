import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { redact } from '../../service/redact.ts';
import { sleep } from '../../service/sleep.ts';
import { objectOf } from '../../service/json-fields.ts';
import { formatted } from '../render/formats.ts';
import { durationText } from '../../service/quantities.ts';
import { Kubectl, syncNamed, type Run } from './kubectl.ts';
import type {
  ClusterOptions,
  ListOptions,
  LogsOptions,
  RepairOptions,
  SyncStatusOptions,
} from './options.ts';
import {
  itemsOf,
  metadataOf,
  readSync,
  readVerification,
  syncsResource,
  type SyncResource,
  type VerificationResource,
} from './resources.ts';
import { lastRows, syncTree, tableLines, treeLines } from './tree.ts';
import { watchEnd } from './watch-end.ts';
import { harmless } from '../../service/harmless.ts';
import { isOutTerminal, writeDrawn, writeError, writeOut } from '../../service/terminal.ts';

const verifications = 'syncverifications.clustersync.dev';

/** The operator's annotation on its pods. */
const podSelector = 'app.kubernetes.io/managed-by=clustersync-operator';
const ownerAnnotation = 'clustersync.dev/owner';

const watchMs = 2_000;
const clearScreen = '\u001b[H\u001b[2J';

/** Each log is read by its own kubectl, which takes some 50 MB. */
const logsAtATime = 8;
const followedLogs = 32;

/** How many lines of each log are collected. */
const collectedLines = 2_000;

/** The latest events only: the number in a namespace is not limited. */
const collectedEvents = 500;

/** The operator's own events have no `lastTimestamp`. */
const eventsByTime = ['get', 'events', '--sort-by=.metadata.creationTimestamp'] as const;

/** Lists the syncs, each with its verifications. */
export const listSyncs: Run<ListOptions> = async (options, _logger, signal) => {
  const kubectl = new Kubectl(options);
  const scope = options.allNamespaces ? ['--all-namespaces'] : [];
  const found = await readAll(kubectl, scope, signal);
  await writeOut(
    formatted({ syncs: found.syncs, verifications: found.verifications }, options.output, () => {
      if (found.syncs.length === 0) return 'no ClusterSyncs\n';
      const rows = found.syncs.map((sync) => [
        ...(options.allNamespaces ? [sync.namespace] : []),
        sync.name,
        sync.phase,
        sync.percent === null ? '-' : `${sync.percent} %`,
        sync.lagSeconds === null ? '-' : durationText(sync.lagSeconds),
        sync.readyToCommit,
        ofSync(found.verifications, sync)
          .map(({ phase }) => phase)
          .join(', ') || '-',
      ]);
      const heads = ['NAME', 'PHASE', 'COPIED', 'LAG', 'READY TO COMMIT', 'VERIFICATION'];
      const all = options.allNamespaces ? ['NAMESPACE', ...heads] : heads;
      return `${tableLines(all, rows).join('\n')}\n`;
    }),
  );
  return 0;
};

/** Shows the state of a sync: a tree of what belongs to it. */
export const showSync: Run<SyncStatusOptions> = async (options, _logger, signal, [name = '']) => {
  const { sync, verifications: own } = await readOne(new Kubectl(options), name, signal);
  const value = { sync, verifications: own };
  await writeOut(
    formatted(value, options.output, () => `${treeLines(syncTree(sync, own)).join('\n')}\n`),
  );
  return 0;
};

/**
 * The same repeatedly, until the sync is committed and its verifications have ended.
 * @returns 0; 1 unless each verification has found both sides equal, so that a script does not take its end for success.
 */
export const watchSync: Run<ClusterOptions> = async (options, _logger, signal, [name = '']) => {
  const kubectl = new Kubectl(options);
  const isTerminal = isOutTerminal();
  const unequal = new Set<string>();
  let last = '';
  for (;;) {
    const { sync, verifications: own } = await readOne(kubectl, name, signal);
    const text = `${treeLines(syncTree(sync, own)).join('\n')}\n`;
    if (isTerminal) await writeDrawn(clearScreen);
    if (isTerminal || text !== last) await writeOut(text);
    last = text;
    const exitCode = watchEnd(sync, own, unequal);
    if (exitCode !== undefined) return exitCode;
    await sleep(watchMs, signal);
  }
};

/** Sets fields in the spec of a sync. If the resource is kept in Git, it must be changed there. */
export function patchSync(spec: object): Run<ClusterOptions> {
  return async (options, _logger, signal, [name = '']) => {
    const patch = JSON.stringify({ spec });
    return await new Kubectl(options).show(
      ['patch', syncNamed(name), '--type=merge', `--patch=${patch}`],
      signal,
    );
  };
}

/** Reverses a committed sync, away from its last direction. */
export const reverseSync: Run<ClusterOptions> = async (options, logger, signal, args) => {
  const [name = ''] = args;
  const object = await new Kubectl(options).json(['get', syncNamed(name)], signal);
  const direction = objectOf(object['spec'])['direction'] === 'Reverse' ? 'Forward' : 'Reverse';
  return await patchSync({ direction, state: 'Running' })(options, logger, signal, args);
};

/** Repairs a sync. The time is the token: no two requests have the same one. */
export const repairSync: Run<RepairOptions> = async (options, logger, signal, args) => {
  const token = new Date().toISOString();
  const comparison = options.comparison === 'bytes' ? 'Bytes' : 'Hashes';
  return await patchSync({ repair: { token, comparison } })(options, logger, signal, args);
};

/** Prints the logs of a sync's syncers and verifiers. */
export const showLogs: Run<LogsOptions> = async (options, _logger, signal, [name = '']) => {
  const kubectl = new Kubectl(options);
  const found = await readOne(kubectl, name, signal);
  const pods = await podsOf(kubectl, found, signal);
  if (pods.length === 0) writeError(`${harmless(name)} has no pods\n`);
  if (options.follow && pods.length > followedLogs) {
    throw new SyncError(
      'InvalidOption',
      `--follow: ${name} has ${pods.length} pods, and at most ${followedLogs} can be followed; follow one pod with: kubectl logs --follow`,
    );
  }
  const follow = options.follow ? ['--follow'] : [];
  const failed = new AbortController();
  const reading = AbortSignal.any([signal, failed.signal]);
  const codes: number[] = [];
  await forEachConcurrently(pods, options.follow ? followedLogs : logsAtATime, async (pod) => {
    try {
      codes.push(await kubectl.show([...logsOf(pod), '--prefix', ...follow], reading));
    } catch (error) {
      // Following a log has no other end.
      failed.abort(error);
      throw error;
    }
  });
  return Math.max(0, ...codes);
};

/** Collects what a maintainer needs to understand a problem. Connection strings are redacted, and no Secret is read. */
export const diagnoseSync: Run<ClusterOptions> = async (options, _logger, signal, [name = '']) => {
  const kubectl = new Kubectl(options);
  const found = await readOne(kubectl, name, signal);
  const pods = await podsOf(kubectl, found, signal).catch(() => []);
  const sections: readonly (readonly string[])[] = [
    ['version'],
    ['get', syncNamed(name), '--output=yaml'],
    ...found.verifications.map((one) => ['get', `${verifications}/${one.name}`, '--output=yaml']),
    ['get', 'statefulsets,services,pods', `--selector=${podSelector}`, '--output=wide'],
    ...pods.map((pod) => ['describe', pod]),
    eventsByTime,
    ...pods.map((pod) => [...logsOf(pod), `--tail=${collectedLines}`]),
    ...pods.map((pod) => [...logsOf(pod), '--previous', `--tail=${collectedLines}`]),
  ];
  for (const args of sections) {
    const text = await kubectl.text(args, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return `(${messageOf(error)})\n`;
    });
    const shown = args === eventsByTime ? lastRows(text, collectedEvents) : text;
    await writeOut(redact(`==== kubectl ${args.join(' ')}\n${shown}\n`));
  }
  return 0;
};

/** Asks for the log of the program: a pod may have other containers, and an annotation that prefers one of them. */
function logsOf(pod: string): string[] {
  const [, program] = /-(syncer|verifier)-\d+$/.exec(pod) ?? [];
  return ['logs', pod, ...(program === undefined ? [] : [`--container=${program}`])];
}

interface Found {
  readonly syncs: readonly SyncResource[];
  readonly verifications: readonly VerificationResource[];
}

async function readAll(
  kubectl: Kubectl,
  scope: readonly string[],
  signal: AbortSignal,
): Promise<Found> {
  const [foundSyncs, foundVerifications] = await Promise.all(
    [syncsResource, verifications].map(
      async (resource) => await kubectl.json(['get', resource, ...scope], signal),
    ),
  );
  return {
    syncs: itemsOf(foundSyncs ?? {}).map(readSync),
    verifications: itemsOf(foundVerifications ?? {}).map(readVerification),
  };
}

async function readOne(
  kubectl: Kubectl,
  name: string,
  signal: AbortSignal,
): Promise<{
  readonly sync: SyncResource;
  readonly verifications: readonly VerificationResource[];
}> {
  const sync = readSync(await kubectl.json(['get', syncNamed(name)], signal));
  const all = itemsOf(await kubectl.json(['get', verifications], signal)).map(readVerification);
  return { sync, verifications: ofSync(all, sync) };
}

function ofSync(
  all: readonly VerificationResource[],
  { namespace, name }: SyncResource,
): VerificationResource[] {
  return all.filter((one) => one.namespace === namespace && one.syncName === name);
}

/** The pods of a sync and its verifications, as arguments for kubectl. */
async function podsOf(
  kubectl: Kubectl,
  found: {
    readonly sync: SyncResource;
    readonly verifications: readonly VerificationResource[];
  },
  signal: AbortSignal,
): Promise<string[]> {
  const owners = [
    `ClusterSync/${found.sync.name}`,
    ...found.verifications.map(({ name }) => `SyncVerification/${name}`),
  ];
  const pods = itemsOf(await kubectl.json(['get', 'pods', `--selector=${podSelector}`], signal));
  return pods
    .map(metadataOf)
    .filter(({ annotations }) => owners.includes(String(annotations[ownerAnnotation])))
    .map(({ name }) => `pod/${name}`);
}
