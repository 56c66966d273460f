import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import {
  type CommitEvidence,
  CommitProofs,
  commitWord,
  type CommitWord,
  type LeftIndex,
  leftIndexWarnings,
} from './commit-word.ts';

const record = {
  state: 'RUNNING',
  phase: 'changes',
  commandCount: 1,
  source: { name: 'cluster0' },
  destination: { name: 'cluster1' },
} as const;

const proven: CommitEvidence = {
  source: { ageMs: 0, versionAgeMs: 2_999, versionRefusal: null },
  destination: { ageMs: 2_999, versionAgeMs: 0, versionRefusal: null },
  recordAgeMs: 1_000,
  commandsOnPrimary: 1,
  sentAgeMs: null,
  isCommitInHand: false,
  otherCommand: null,
  retryWarnings: [],
  leftIndexes: [],
  isWorking: true,
  isShared: false,
};

/** With other answers of a cluster. */
const answered = (
  role: 'source' | 'destination',
  change: Partial<CommitEvidence['source']>,
): CommitEvidence => ({ ...proven, [role]: { ...proven[role], ...change } });

const left = (
  expectedSeconds: number | null,
  { reason = 'CannotIndexParallelArrays', isBuiltByCommitAlone = false } = {},
): LeftIndex => ({
  namespace: 'shop.items',
  name: 'index',
  ...{ reason, expectedSeconds, isBuiltByCommitAlone },
});

const possible: CommitWord = { canCommit: true, commitUnderWay: false, warnings: [] };
const impossible = (text: string): CommitWord => ({
  canCommit: false,
  commitUnderWay: false,
  warnings: [`commit: not possible now: ${text}`],
});

describe('what progress says of a commit', () => {
  const cases: readonly (readonly [string, CommitWord, CommitWord])[] = [
    ['is that it is possible, where all is proven', commitWord(record, proven), possible],
    [
      'names a source that is silent for 3 s',
      commitWord(record, answered('source', { ageMs: 3_000 })),
      impossible('cluster0 has not answered for 3 s'),
    ],
    [
      'names a destination whose majority is silent for 3 s',
      commitWord(record, answered('destination', { ageMs: 3_000 })),
      impossible('a majority of cluster1 has not acknowledged a write for 3 s'),
    ],
    [
      'names what was never answered',
      commitWord(record, answered('destination', { ageMs: null })),
      impossible('a majority of cluster1 has not acknowledged a write yet'),
    ],
    ...(['source', 'destination'] as const).flatMap((role) => {
      const { name } = record[role];
      const refusal = `the featureCompatibilityVersion of ${name} (host) is 5.0; 6.0 is required`;
      return [
        [
          `names a version of the ${role} with which it would be refused`,
          commitWord(record, answered(role, { versionRefusal: refusal })),
          impossible(refusal),
        ],
        [
          `names a version of the ${role} that was not read for 3 s`,
          commitWord(record, answered(role, { versionAgeMs: 3_000 })),
          impossible(`the featureCompatibilityVersion of ${name} has not been read for 3 s`),
        ],
        [
          `names a version of the ${role} that was never read`,
          commitWord(record, answered(role, { versionAgeMs: null })),
          impossible(`the featureCompatibilityVersion of ${name} has not been read yet`),
        ],
      ] as const;
    }),
    [
      'names the silence of a cluster alone, of which nothing else can be known',
      commitWord(record, answered('source', { ageMs: 3_000, versionAgeMs: 4_000 })),
      impossible('cluster0 has not answered for 3 s'),
    ],
    [
      'is not that none is under way where the record was not read lately',
      commitWord(record, { ...proven, recordAgeMs: 4_500 }),
      {
        canCommit: false,
        commitUnderWay: null,
        warnings: ['commit: not possible now: the state on cluster1 has not been read for 4 s'],
      },
    ],
    [
      'is nothing before the writes of a former process have ended',
      commitWord(record, { ...proven, isWorking: false }),
      { canCommit: false, commitUnderWay: null, warnings: [] },
    ],
    [
      'names indexes that would have to be built for long',
      commitWord(record, { ...proven, leftIndexes: [left(7), left(4)] }),
      impossible('2 indexes must be built first, which is expected to take 11 s'),
    ],
    [
      'names indexes of which it is not known how long they take',
      commitWord(record, { ...proven, leftIndexes: [left(7), left(4), left(null)] }),
      impossible('3 indexes must be built first, which takes an unknown time'),
    ],
    [
      'names what has failed for long, and is tried again',
      commitWord(record, { ...proven, retryWarnings: ['apply: trying again for 5 s: refused'] }),
      impossible('apply: trying again for 5 s: refused'),
    ],
    [
      'does not name that in the copy, where nobody could commit',
      commitWord(
        { ...record, phase: 'copy' },
        { ...proven, retryWarnings: ['copy: trying again for 5 s: refused'] },
      ),
      { ...possible, canCommit: false },
    ],
    [
      'is that it is possible where they are built soon, or cannot be before it',
      commitWord(record, {
        ...proven,
        leftIndexes: [
          left(10),
          left(null, { isBuiltByCommitAlone: true }),
          ...[null, 3_600].map((seconds) => left(seconds, { reason: 'IndexKeySpecsConflict' })),
        ],
      }),
      possible,
    ],
    [
      'is that one is under way from when it comes',
      commitWord(record, { ...proven, isCommitInHand: true }),
      { ...possible, commitUnderWay: true },
    ],
    [
      'names another command that is carried out before it',
      commitWord(record, { ...proven, otherCommand: 'pause' }),
      impossible('pause is being carried out'),
    ],
    [
      'is that it waits from when it is sent, whatever else is proven',
      commitWord(record, { ...proven, sentAgeMs: 43_210, isCommitInHand: true }),
      {
        canCommit: false,
        commitUnderWay: true,
        warnings: [
          'commit: it was sent to the store 43 s ago and cannot be undone: waiting until a majority of cluster1 has it',
        ],
      },
    ],
    [
      'is the same of one that another process has sent, in the copy, too',
      commitWord({ ...record, phase: 'copy' }, { ...proven, commandsOnPrimary: 2 }),
      {
        canCommit: false,
        commitUnderWay: true,
        warnings: [
          'commit: it was sent to the store and cannot be undone: waiting until a majority of cluster1 has it',
        ],
      },
    ],
    [
      'is that it is possible, and under way, where other instances have taken it',
      commitWord(record, proven, ['b', 'c']),
      {
        canCommit: true,
        commitUnderWay: true,
        warnings: ['commit: other instances have accepted it; send it to b and c, too'],
      },
    ],
    [
      'is that it is not possible where the sync is being reset',
      commitWord({ ...record, reset: { destination: 'Keep', received: [], ended: [] } }, proven),
      { ...possible, canCommit: false },
    ],
    [
      'is nothing new in the copy',
      commitWord({ ...record, phase: 'copy' }, proven),
      { ...possible, canCommit: false },
    ],
    [
      'is that none is under way while the sync is paused',
      commitWord(
        { ...record, state: 'PAUSED' },
        { ...proven, isWorking: false, recordAgeMs: null },
      ),
      { ...possible, canCommit: false },
    ],
    [
      'is nothing while this instance of several is paused, and has not read the record lately',
      commitWord(
        { ...record, state: 'PAUSED' },
        { ...proven, isWorking: false, isShared: true, recordAgeMs: 3_000 },
      ),
      { canCommit: false, commitUnderWay: null, warnings: [] },
    ],
    [
      'is that it is under way until it is completed',
      commitWord({ ...record, state: 'COMMITTING' }, proven),
      { canCommit: false, commitUnderWay: true, warnings: [] },
    ],
    [
      'is that none is under way when it is completed',
      commitWord({ ...record, state: 'COMMITTED' }, { ...proven, isWorking: false }),
      { canCommit: false, commitUnderWay: false, warnings: [] },
    ],
  ];
  for (const [what, word, expected] of cases) {
    it(what, () => {
      assert.deepEqual(word, expected);
    });
  }
});

describe('proofs of a commit', () => {
  it('are outdated where the machine stood still, which the clock of the process does not show', async () => {
    const clocks = { process: 1_000, wall: 50_000 };
    const proofs = new CommitProofs(() => [clocks.process, clocks.wall]);
    await proofs.by('record', async () => {
      await Promise.resolve();
    });
    const word = (): CommitWord => {
      const { recordAgeMs } = proofs.evidence;
      return commitWord(record, { ...proven, recordAgeMs });
    };
    clocks.process += 100;
    clocks.wall += 100;
    assert.equal(word().commitUnderWay, false);
    clocks.wall += 60_000;
    assert.deepEqual([word().canCommit, word().commitUnderWay], [false, null]);
  });

  it('count from when they were asked for, and not while they are not answered', async () => {
    let nowMs = 10_000;
    const proofs = new CommitProofs(() => [nowMs, nowMs]);
    const word = (): CommitWord => commitWord(record, { ...proven, ...proofs.evidence });
    const answers = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
    assert.equal(word().canCommit, false);
    await proofs.by('source', async () => {
      await Promise.resolve();
    });
    await proofs.by('record', async () => {
      await Promise.resolve();
    });
    for (const role of ['source', 'destination'] as const) {
      assert.equal(word().canCommit, false);
      await proofs.by(`version of the ${role}`, async () => {
        await Promise.resolve();
      });
    }
    const asked = proofs.by('destination', async () => await answers[0]?.promise);
    nowMs += 1_000;
    assert.equal(word().canCommit, false, 'not answered');
    answers[0]?.resolve(1);
    await asked;
    assert.equal(word().canCommit, true);
    nowMs += 1_999;
    assert.equal(word().canCommit, true);
    nowMs += 1;
    assert.equal(word().canCommit, false, '3 s after the question');
    // Of two questions the later one counts, even if it was answered first.
    const early = proofs.by('source', async () => await answers[1]?.promise);
    nowMs += 100;
    await proofs.by('source', async () => {
      await Promise.resolve();
    });
    nowMs += 400;
    answers[1]?.resolve(1);
    await early;
    const { source, destination } = proofs.evidence;
    assert.deepEqual([source.ageMs, destination.ageMs], [400, 3_500]);
    proofs.setCommandsOnPrimary(2);
    assert.equal(proofs.evidence.commandsOnPrimary, 2);
    const refusal = new SyncError('FeatureVersionNotSupported', '5.0');
    proofs.setVersionRefusal('destination', refusal);
    assert.equal(proofs.evidence.destination.versionRefusal, '5.0');
    assert.equal(proofs.versionRefusal, refusal);
    proofs.setVersionRefusal('destination', undefined);
    assert.equal(proofs.versionRefusal, undefined);
    proofs.setVersionRefusal('source', refusal);
    proofs.clear();
    const nothing = { ageMs: null, versionAgeMs: null, versionRefusal: null };
    assert.deepEqual(proofs.evidence, {
      source: nothing,
      destination: nothing,
      recordAgeMs: null,
      commandsOnPrimary: null,
    });
  });
});

const leftIndex = (
  name: string,
  expectedSeconds: number | null,
  isBuiltByCommitAlone = false,
): LeftIndex => ({
  namespace: 'shop.items',
  name,
  reason: 'CannotIndexParallelArrays',
  expectedSeconds,
  isBuiltByCommitAlone,
});

describe('leftIndexWarnings', () => {
  it('tells of each index, why, and how long it is expected to take', () => {
    assert.deepEqual(leftIndexWarnings([leftIndex('two', 40), leftIndex('geo', null)]), [
      'index two of shop.items is left to the commit, unless it can be built earlier (CannotIndexParallelArrays): the build is expected to take 40 s',
      'index geo of shop.items is left to the commit, unless it can be built earlier (CannotIndexParallelArrays): the build time is unknown',
    ]);
    assert.deepEqual(leftIndexWarnings([leftIndex('capped', null, true)]), [
      'index capped of shop.items is left to the commit (CannotIndexParallelArrays): the build time is unknown',
    ]);
    const isBuilt = { ...leftIndex('large', 40), reason: 'LargeCollection' };
    assert.deepEqual(leftIndexWarnings([isBuilt]), [
      'index large of shop.items is built while changes are applied: the build is expected to take 40 s',
    ]);
    assert.deepEqual(leftIndexWarnings([]), []);
  });

  it('counts those that are too many to be told of', () => {
    const many = Array.from({ length: 25 }, (_, n) => leftIndex(`i${n}`, null));
    const warnings = leftIndexWarnings(many);
    assert.equal(warnings.length, 21);
    assert.equal(warnings.at(-1), '5 more indexes are left');
  });
});
