import { totalBytes, type Refusal, type ToolView } from './sync-tool.ts';

/** An answer of a tool's API. */
export interface ToolAnswer {
  readonly status: number;
  /** Sent as JSON; a text as it is. */
  readonly body: object | string;
}

/** How a tool speaks. */
export interface Dialect {
  readonly progress: (tool: ToolView, id: string) => ToolAnswer;
  readonly commands: readonly string[];
  readonly refuse: (refusal: Refusal) => ToolAnswer;
  /** The states that it has a name for, and others do not. */
  readonly initializingMs: number;
}

const notFound: ToolAnswer = { status: 404, body: '404 page not found' };

/** The answer to a path that a tool does not have. */
export function unknownPath(): ToolAnswer {
  return notFound;
}

function infoOf({ state, isCopied }: ToolView): string {
  if (state === 'COMMITTED') return 'commit completed';
  if (state === 'COMMITTING') return 'waiting for commit to complete';
  return isCopied ? 'change event application' : 'collection copy';
}

function canCommit({ state, isCopied }: ToolView): boolean {
  return state === 'RUNNING' && isCopied;
}

function directionOf({ isReversed }: ToolView) {
  const sides = ['cluster0: old.example.dev:27017', 'cluster1: new.example.dev:27017'];
  const [Source, Destination] = isReversed ? sides.toReversed() : sides;
  return { Source, Destination };
}

/** Every field of the contract, and no other. */
const contract: Dialect = {
  commands: ['start', 'commit', 'pause', 'resume', 'reverse'],
  initializingMs: 0,
  refuse: (refusal) => ({ status: 400, body: { success: false, ...refusal } }),
  progress: (tool, id) => {
    const { state, copiedBytes, lagSeconds } = tool;
    const isIdle = state === 'IDLE';
    const progress = {
      canWrite: state === 'COMMITTED',
      info: infoOf(tool),
      lagTimeSeconds: state === 'PAUSED' ? null : state === 'COMMITTED' ? 0 : lagSeconds,
      collectionCopy: { estimatedTotalBytes: totalBytes, estimatedCopiedBytes: copiedBytes },
      directionMapping: directionOf(tool),
      syncerID: id,
      coordinatorID: id,
    };
    const shown = isIdle
      ? Object.fromEntries(Object.keys(progress).map((name) => [name, null]))
      : progress;
    return {
      status: 200,
      body: { progress: { state, canCommit: canCommit(tool), ...shown } },
    };
  },
};

/** Only what a client must know to proceed: the endpoints that the contract describes completely. */
const least: Dialect = {
  ...contract,
  commands: ['start', 'commit'],
  progress: (tool) => ({
    status: 200,
    body: { progress: { state: tool.state, canCommit: canCommit(tool), info: infoOf(tool) } },
  }),
};

/** As recent versions of mongosync answer: other names, other states, errors with the status 200. */
const mongosync: Dialect = {
  commands: contract.commands,
  initializingMs: 600,
  refuse: (refusal) => ({ status: 200, body: { success: false, ...refusal } }),
  progress: (tool, id) => {
    const { state, copiedBytes, lagSeconds, events } = tool;
    const isKnown = state !== 'IDLE' && state !== 'INITIALIZING';
    const hasLag = state === 'RUNNING' || state === 'COMMITTING';
    const progress = {
      state,
      canCommit: canCommit(tool),
      canWrite: isKnown ? state === 'COMMITTED' : null,
      info: isKnown ? infoOf(tool) : null,
      lag: hasLag ? { overallLagSeconds: lagSeconds, crudLagSeconds: null } : null,
      totalEventsApplied: events,
      collectionCopy: isKnown
        ? { estimatedTotalBytes: totalBytes, estimatedCopiedBytes: copiedBytes }
        : null,
      directionMapping: isKnown ? directionOf(tool) : null,
      source: { pingLatencyMs: 250 },
      destination: { pingLatencyMs: -1 },
      estimatedOplogTimeRemaining: 'more than 72 hours',
      mongosyncID: isKnown ? id : null,
      coordinatorID: isKnown ? id : null,
    };
    return { status: 200, body: { success: true, progress } };
  },
};

export const dialects = { contract, least, mongosync } as const;
export type DialectName = keyof typeof dialects;
