import { commitObstaclePrefix } from '../../service/commit-obstacle.ts';
import type { Direction } from '../api/clustersync.ts';
import { errorIn, propertyIn, stringIn } from '../operand/http-api.ts';
import { operandApi, unanswered } from '../operand/operand-api.ts';

/** What the operator reads in the progress of an instance. Other tools leave fields out, and have others. */
export interface SyncerProgress {
  readonly state: string;
  readonly info: string | undefined;
  readonly canCommit: boolean;
  /** True until a commit is refused or completed; false where it is proven that none is under way; null where neither is known. */
  readonly commitUnderWay: boolean | null | undefined;
  /** What keeps a commit from being taken, where all is copied; undefined where the tool does not say. */
  readonly commitObstacle: string | undefined;
  readonly canWrite: boolean | undefined;
  readonly lagTimeSeconds: number | undefined;
  readonly estimatedTotalBytes: number | undefined;
  readonly estimatedCopiedBytes: number | undefined;
  readonly coordinatorID: string | undefined;
  /** Undefined as long as there is no sync. */
  readonly direction: Direction | undefined;
  /** Identifies the options that the sync was started with; undefined as long as there is none. */
  readonly optionsDigest: string | undefined;
  /** As it was received. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** The commands that the operator sends. */
export type SyncerCommand = 'start' | 'pause' | 'resume' | 'commit' | 'reverse' | 'reset';

const unreachableName = 'SyncerUnreachable';
/** start looks at both deployments first, and a commit may wait for that of the other instances. */
const commandDeadlineMs = 150_000;
const runningIntervalMs = 1_000;
/** Only a command moves it: see {@link OperandMonitor}. */
const pausedIntervalMs = 5_000;
const committedIntervalMs = 600_000;

/** The HTTP API of a syncer: parts 2 and 4 of the contract. */
export const syncerApi = operandApi<SyncerProgress, SyncerCommand>({
  readProgress,
  commandDeadlineMs,
  outcomeOf: ({ status, body }) => {
    if (propertyIn(body, 'success') === true) return { kind: 'taken' };
    const error = errorIn(body, true);
    return error
      ? { kind: 'refused', error }
      : unanswered(unreachableName, `HTTP ${status} without success`);
  },
  unreachableName,
  intervalMs: (answer) => {
    switch (answer?.kind === 'progress' ? answer.progress.state : '') {
      case 'COMMITTED':
        return committedIntervalMs;
      case 'PAUSED':
        return pausedIntervalMs;
      default:
        return runningIntervalMs;
    }
  },
});

/** A progress object, as received just now or as it is kept in the status. */
export function readProgress(value: unknown): SyncerProgress | undefined {
  const state = stringIn(value, 'state');
  if (state === undefined) return undefined;
  const canWrite = propertyIn(value, 'canWrite');
  const commitUnderWay = propertyIn(value, 'commitUnderWay');
  const copy = propertyIn(value, 'collectionCopy');
  return {
    state,
    info: stringIn(value, 'info'),
    canCommit: propertyIn(value, 'canCommit') === true,
    commitUnderWay:
      typeof commitUnderWay === 'boolean' || commitUnderWay === null ? commitUnderWay : undefined,
    commitObstacle: obstacleIn(propertyIn(value, 'warnings')),
    canWrite: typeof canWrite === 'boolean' ? canWrite : undefined,
    // Recent versions of mongosync have the lag by kinds of events.
    lagTimeSeconds:
      countIn(value, 'lagTimeSeconds') ?? countIn(propertyIn(value, 'lag'), 'overallLagSeconds'),
    estimatedTotalBytes: countIn(copy, 'estimatedTotalBytes'),
    estimatedCopiedBytes: countIn(copy, 'estimatedCopiedBytes'),
    coordinatorID: stringIn(value, 'coordinatorID'),
    direction: directionIn(propertyIn(value, 'directionMapping')),
    optionsDigest: stringIn(value, 'optionsDigest'),
    raw: value as Readonly<Record<string, unknown>>,
  };
}

/** Whatever an instance says, more of it is no help. */
const maxObstacleLength = 500;

function obstacleIn(warnings: unknown): string | undefined {
  if (!Array.isArray(warnings)) return undefined;
  const found: unknown = warnings.find(
    (text) => typeof text === 'string' && text.startsWith(commitObstaclePrefix),
  );
  return typeof found === 'string'
    ? found.slice(commitObstaclePrefix.length, commitObstaclePrefix.length + maxObstacleLength)
    : undefined;
}

/** The source of the start is cluster0: see startBody. */
function directionIn(mapping: unknown): Direction | undefined {
  const [source] = stringIn(mapping, 'Source')?.split(':') ?? [];
  if (source === 'cluster0') return 'Forward';
  return source === 'cluster1' ? 'Reverse' : undefined;
}

function countIn(value: unknown, name: string): number | undefined {
  const count = propertyIn(value, name);
  return typeof count === 'number' && Number.isFinite(count) && count >= 0
    ? Math.round(count)
    : undefined;
}
