import assert from 'node:assert/strict';
import type { Hold } from './hold.ts';
import {
  carriedOut,
  down,
  ending,
  found,
  hold,
  missing,
  nowMs,
  options,
  plan,
  refused,
  sent,
  testPlans,
  up,
  views,
  web,
  type PlanCase,
} from './testing/two-workloads.ts';

const lag = { reason: 'WaitingForLag', message: 'the lag is 99 s', level: 'waiting' } as const;
const late: Hold = { ...hold, sinceMs: nowMs - 300_000 };

const stopping = 'StoppingWorkloads waiting';
const missed = 'CommitDeadlineMissed stalled';
const failed = { reason: 'VerificationFailed', message: '', level: 'stalled' } as const;
const windowOver = 'CommitWindowMissed stalled';
const back = { ...options, workloadsAfterCommit: 'ScaleBack' } as const;
const alone = { ...options, workloads: [] };
const secondMs = 1_000;
const at = (ms: number): string => new Date(ms).toISOString();
const early = { ...options, notBefore: at(nowMs + secondMs) };
const open = { ...options, notBefore: at(nowMs), notAfter: at(nowMs + secondMs) };
const over = { ...options, notAfter: at(nowMs) };

describe('the next step of an automatic commit', () => {
  const cases: readonly PlanCase[] = [
    // Nothing is held.
    ['is none where none is asked for', { isAskedFor: false }, 'none'],
    ['is none while something else is in the way', { obstacle: { cause: undefined } }, 'none'],
    ['waits, and says for what', { obstacle: { cause: lag } }, 'none WaitingForLag waiting'],
    ['is none when it is taken', { commit: 'taken' }, 'none'],
    ['is none when it is done', { commit: 'done' }, 'none'],
    ['sends where there are no workloads', { options: alone }, 'send Committing waiting'],
    [
      'waits where there are no workloads',
      { options: alone, obstacle: { cause: lag } },
      'none WaitingForLag waiting',
    ],
    ['looks at the workloads', {}, 'look'],
    ['puts on record what there is', { workloads: up }, `record web=3,queue=1 ${stopping}`],
    ['does so for what is at zero, too', { workloads: down }, `record web=0,queue=0 ${stopping}`],
    [
      'stops where a workload is missing',
      { workloads: views(found('web', 3), missing) },
      'none WorkloadNotFound stalled',
    ],
    [
      'stops where a workload may not be seen',
      { workloads: views(refused, found('queue', 1)) },
      'none Forbidden stalled',
    ],
    [
      'is none where it missed the deadline',
      { missedHash: 'hash', workloads: up },
      `none ${missed}`,
    ],
    [
      'restarts with other options',
      { missedHash: 'former', workloads: up },
      `record web=3,queue=1 ${stopping}`,
    ],
    // The window.
    ['is none before the window', { options: early, workloads: up }, 'none opens'],
    ['looks at the workloads before the window', { options: early }, 'look'],
    [
      'says in time that a workload is missing',
      { options: early, workloads: views(found('web', 3), missing) },
      'none WorkloadNotFound stalled',
    ],
    [
      'says in time what does not pass by itself',
      { options: early, obstacle: { cause: failed } },
      'none VerificationFailed stalled',
    ],
    [
      'has no verdict about one that may be under way',
      { options: over, commit: 'unknown' },
      'none',
    ],
    ['is not sent before the window', { options: { ...early, workloads: [] } }, 'none opens'],
    [
      'says that before what it waits for',
      { options: early, obstacle: { cause: lag } },
      'none opens',
    ],
    [
      'says nothing about the window during the copy',
      { options: early, obstacle: { cause: undefined } },
      'none',
    ],
    ['begins in the window', { options: open, workloads: up }, `record web=3,queue=1 ${stopping}`],
    ['does not begin after the window', { options: over, workloads: up }, `none ${windowOver}`],
    ['is not sent after the window', { options: { ...over, workloads: [] } }, `none ${windowOver}`],
    [
      'says that rather than what it waited for',
      { options: over, obstacle: { cause: lag } },
      `none ${windowOver}`,
    ],
    ['has no window when it is taken', { options: over, commit: 'taken' }, 'none'],
    ['has no window when it is not asked for', { options: early, isAskedFor: false }, 'none'],
    [
      'continues in the window',
      { options: open, hold: sent, workloads: down },
      'send Committing waiting',
    ],
    [
      'is given up at the end of the window',
      { options: over, hold, workloads: down },
      `record web=3,queue=1 DeadlineMissed ${stopping}`,
    ],
    [
      'is given up at the end of the window when it may have been taken, too',
      { options: over, hold: sent, workloads: down, commit: 'unknown' },
      `record web=3,queue=1 sent DeadlineMissed ${stopping}`,
    ],
    [
      'is given up at the deadline though the window is open',
      { options: open, hold: late, workloads: down },
      `record web=3,queue=1 DeadlineMissed ${stopping}`,
    ],
    [
      'says that it was missed, after the window, too',
      { options: over, missedHash: 'hash' },
      `none ${missed}`,
    ],
    // Something is held.
    ['looks first at what is held', { hold }, 'look'],
    ['looks first, whatever else', { hold, commit: 'done' }, 'look'],
    ['takes the workloads down', { hold, workloads: up }, `scale web=0,queue=0 ${stopping}`],
    [
      'takes down what is left',
      { hold, workloads: views(found('web', 0), found('queue', 1)) },
      `scale queue=0 ${stopping}`,
    ],
    [
      'puts another size on record first',
      { hold, workloads: views(found('web', 5), found('queue', 0)) },
      `record web=5,queue=1 ${stopping}`,
    ],
    [
      'waits for pods that are being ended',
      { hold, workloads: views(found('web', 0, 2), found('queue', 0)) },
      `none ${stopping}`,
    ],
    [
      'waits for what was recreated',
      { hold, workloads: views(found('other', 2), found('queue', 0)) },
      `none ${stopping}`,
    ],
    [
      'waits for what was recreated and has no pods yet',
      { hold: sent, workloads: views(found('other', 2, 0), found('queue', 0)) },
      `none ${stopping}`,
    ],
    [
      'is not sent while a workload may not be seen',
      { hold: sent, workloads: views(refused, found('queue', 0)) },
      'none Forbidden stalled',
    ],
    [
      'does without what is gone',
      { hold, workloads: views(missing, found('queue', 0)) },
      `record web=3,queue=1 sent ${stopping}`,
    ],
    [
      'waits with all down',
      { hold, workloads: down, obstacle: { cause: lag } },
      'none WaitingForLag waiting',
    ],
    [
      'puts on record that it is going to be sent',
      { hold, workloads: down },
      `record web=3,queue=1 sent ${stopping}`,
    ],
    ['sends it', { hold: sent, workloads: down }, 'send Committing waiting'],
    [
      'records it again where that is long ago',
      { hold: { ...hold, commitSentMs: nowMs - 5_000 }, workloads: down },
      `record web=3,queue=1 sent ${stopping}`,
    ],
    [
      'does not send it while pods are back',
      { hold: sent, workloads: up },
      `scale web=0,queue=0 ${stopping}`,
    ],
    [
      'keeps everything down when it is taken',
      { hold: sent, workloads: down, commit: 'taken' },
      'none',
    ],
    [
      'takes down again what comes up during the commit',
      { hold: sent, workloads: up, commit: 'taken' },
      `scale web=0,queue=0 ${stopping}`,
    ],
    [
      'goes no way back when it is taken',
      { hold: { ...sent, sinceMs: 0 }, workloads: down, commit: 'taken', isAskedFor: false },
      'none',
    ],
    [
      'puts on record what becomes of them, before the commit is published',
      { hold: sent, workloads: down, commit: 'taken', isCarriedOut: true },
      'record web=3,queue=1 sent StayAtZero',
    ],
    [
      'puts that on record whatever is known of them',
      { hold: ending, commit: 'taken', isCarriedOut: true },
      'record web=3,queue=1 DeadlineMissed StayAtZero',
    ],
    [
      'stops nothing again for a commit by hand',
      { hold: ending, workloads: up, commit: 'taken' },
      'none',
    ],
    [
      'leaves them at zero when it is reversed before that is forgotten',
      { hold: carriedOut, workloads: down, direction: 'Reverse' },
      'drop',
    ],
    [
      'gives them back when it is reversed, where that is wanted',
      {
        ...{ hold: { ...carriedOut, afterCommit: 'ScaleBack' }, workloads: down },
        ...{ commit: 'unknown', direction: 'Reverse' },
      },
      'scale web=3,queue=1',
    ],
    [
      'waits for what is known again of a commit that was carried out',
      { hold: { ...carriedOut, sinceMs: 0 }, workloads: down, commit: 'unknown' },
      'none',
    ],
    [
      'puts it on record though it is to be reversed by now',
      { hold: sent, workloads: down, isCarriedOut: true, direction: 'Reverse' },
      'record web=3,queue=1 sent StayAtZero',
    ],
    [
      'puts it on record again where that has changed',
      { hold: carriedOut, workloads: down, commit: 'taken', isCarriedOut: true, options: back },
      'record web=3,queue=1 sent ScaleBack',
    ],
    [
      'keeps everything down until the commit is published',
      { hold: carriedOut, workloads: up, commit: 'taken', isCarriedOut: true },
      `scale web=0,queue=0 ${stopping}`,
    ],
    ['forgets what stays at zero', { hold: sent, workloads: down, commit: 'done' }, 'drop'],
    [
      'gives back what is wanted back',
      { hold: sent, workloads: down, commit: 'done', options: back },
      'scale web=3,queue=1',
    ],
    [
      'forgets what it gave back',
      { hold: sent, workloads: up, commit: 'done', options: back },
      'drop',
    ],
    // The way back.
    [
      'is given up at the deadline',
      { hold: late, workloads: down },
      `record web=3,queue=1 DeadlineMissed ${stopping}`,
    ],
    [
      'is given up when it is not asked for any more',
      { hold, workloads: down, isAskedFor: false },
      `record web=3,queue=1 NotAskedFor ${stopping}`,
    ],
    [
      'is given up in another direction',
      { hold, workloads: down, direction: 'Reverse' },
      `record web=3,queue=1 NotAskedFor ${stopping}`,
    ],
    [
      'is given up with other options',
      { hold, workloads: down, optionsHash: 'other' },
      `record web=3,queue=1 OptionsChanged ${stopping}`,
    ],
    [
      'is given up before it is sent, though nobody answers',
      { hold: late, workloads: down, commit: 'unknown' },
      `record web=3,queue=1 DeadlineMissed ${stopping}`,
    ],
    [
      'is given up when it may have been taken, too',
      { hold: { ...late, commitSentMs: 1 }, workloads: down, commit: 'unknown' },
      `record web=3,queue=1 sent DeadlineMissed ${stopping}`,
    ],
    ['looks at what it holds, whatever else was read', { hold: ending, workloads: [] }, 'look'],
    ['gives the sizes back', { hold: ending, workloads: down }, `scale web=3,queue=1 ${missed}`],
    [
      'gives back what is at zero alone',
      { hold: ending, workloads: views(found('web', 5), found('queue', 0)) },
      `scale queue=1 ${missed}`,
    ],
    [
      'gives nothing to what was recreated',
      { hold: ending, missedHash: 'hash', workloads: views(found('other', 0), missing) },
      `drop ${missed}`,
    ],
    [
      'waits where it may not scale',
      { hold: ending, workloads: views(refused, found('queue', 1)) },
      `none Forbidden stalled`,
    ],
    [
      'says that it was missed before it forgets',
      { hold: ending, workloads: up },
      `none ${missed}`,
    ],
    [
      'forgets when that is on record',
      { hold: ending, workloads: up, missedHash: 'hash' },
      `drop ${missed}`,
    ],
    [
      'does not turn round on the way back',
      { hold: { ...hold, ending: 'NotAskedFor' }, workloads: down },
      'scale web=3,queue=1',
    ],
    ['goes no further back when taken', { hold: ending, workloads: down, commit: 'taken' }, 'none'],
    ['does not go back when it is done', { hold: ending, workloads: down, commit: 'done' }, 'drop'],
    [
      'forgets what nobody asked for any more',
      { hold: { ...hold, ending: 'OptionsChanged' }, workloads: up },
      'drop',
    ],
  ];
  testPlans(cases);

  it('tells the status what was missed, from the way back on', () => {
    assert.equal(plan({ hold: ending, workloads: down }).missedHash, 'hash');
    assert.equal(plan({ missedHash: 'hash' }).missedHash, 'hash');
    assert.equal(plan({ missedHash: 'hash', isAskedFor: false }).missedHash, 'hash');
    assert.equal(plan({ missedHash: 'former', workloads: up }).missedHash, undefined);
    assert.equal(plan({ missedHash: 'hash', commit: 'done' }).missedHash, undefined);
  });

  it('says what would keep a commit from beginning after the window, too', () => {
    const { cause } = plan({ options: over, obstacle: { cause: lag } });
    assert.equal(
      cause?.message,
      `the commit did not begin before ${over.notAfter} (WaitingForLag would keep it from beginning now, too): set a later time in spec.commit.notAfter, or remove it`,
    );
    const alone = plan({ options: over }).cause?.message ?? '';
    assert.ok(alone.startsWith(`the commit did not begin before ${over.notAfter}: set a later`));
  });

  it('says how to try again', () => {
    const without = plan({ missedHash: 'hash' }).cause?.message ?? '';
    assert.match(without, /within 300 s, and .* new value of spec\.commit\.attempt$/);
    const within = plan({ options: over, missedHash: 'hash' }).cause?.message ?? '';
    assert.match(within, /within 300 s and before 20.* with a later notAfter$/);
  });

  it('tries to stop all before it stops the first, until a commit may be under way', () => {
    const tried = [
      { hold, workloads: up },
      { hold: sent, workloads: up },
      { hold, workloads: up, commit: 'taken' as const },
      { hold: ending, workloads: down },
    ].map((facts) => {
      const { step } = plan(facts);
      return step.kind === 'scale' ? step.isTriedFirst : step.kind;
    });
    assert.deepEqual(tried, [true, false, false, false]);
  });

  it('scales what was seen, and nothing else', () => {
    const { step } = plan({ hold, workloads: up });
    assert.ok(step.kind === 'scale');
    assert.deepEqual(step.scalings[0], {
      ...web,
      seen: { uid: 'web-uid', resourceVersion: '7' },
      replicas: 0,
    });
  });
});
