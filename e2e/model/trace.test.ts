import assert from 'node:assert/strict';
import { checkTrace } from './trace.ts';

/** A line of the log: of a phase with its state, or of anything else. */
function line(msg: string, fields: object = {}): string {
  return JSON.stringify({
    level: 'info',
    time: '2026-01-01T00:00:00Z',
    program: 'syncer',
    ...fields,
    msg,
  });
}

function phases(state: string, ...names: readonly string[]): string[] {
  return names.map((phase) => line('phase', { phase, state }));
}

function boot(state: string): string[] {
  return [line('listening', { port: 1 }), line('ready', { state, blocked: [] })];
}

const begun = [
  ...boot('IDLE'),
  line('started'),
  ...phases('RUNNING', 'catalog', 'copy', 'changes'),
];
const restored = [
  line('committing'),
  ...phases('COMMITTING', 'restoring'),
  line('users may write to the destination'),
];
const committed = [...begun, ...restored, ...phases('COMMITTED', 'done'), line('committed')];
const reversed = [
  line('reversing'),
  ...phases('RUNNING', 'handover'),
  line('reversed'),
  ...phases('RUNNING', 'preparing', 'changes'),
];

describe('checkTrace', () => {
  const accepted: Readonly<Record<string, readonly string[]>> = {
    'a sync that is committed': committed,
    'one that is paused and resumed': [
      ...begun,
      line('paused'),
      line('resumed'),
      ...phases('RUNNING', 'changes'),
    ],
    'a process that is killed in the copy': [
      ...begun.slice(0, -1),
      '{"level":"info","msg":"pha',
      ...boot('RUNNING'),
      ...phases('RUNNING', 'copy', 'changes'),
    ],
    'one that is killed before it tells of its next phase': [
      ...begun.slice(0, -1),
      ...boot('RUNNING'),
      ...phases('RUNNING', 'changes'),
    ],
    'one that is killed before it tells of a pause': [...begun, ...boot('PAUSED'), line('resumed')],
    'one that is killed in a commit that it does not tell of': [
      ...begun,
      ...boot('COMMITTING'),
      ...phases('COMMITTING', 'changes', 'restoring'),
      ...phases('COMMITTED', 'done'),
      line('committed'),
    ],
    'a commit that a former process has sent': [
      ...begun,
      ...boot('RUNNING'),
      ...phases('COMMITTING', 'changes'),
    ],
    'two reversals': [
      ...committed,
      ...reversed,
      ...restored,
      ...phases('COMMITTED', 'done'),
      ...reversed,
    ],
    'a process that is killed in a reversal': [
      ...committed,
      ...boot('RUNNING'),
      ...phases('RUNNING', 'handover', 'preparing'),
    ],
    'a repair': [...begun, line('repairing'), ...phases('RUNNING', 'catalog', 'copy', 'changes')],
    'a reset and another sync': [
      ...begun,
      line('reset'),
      line('started'),
      ...phases('RUNNING', 'catalog'),
    ],
  };
  for (const [what, lines] of Object.entries(accepted))
    it(`accepts ${what}`, () => {
      const whole = lines.filter((text) => text.endsWith('}'));
      assert.equal(
        checkTrace([...lines, line('warning'), 'Warning: no line of the log'].join('\n')),
        whole.length,
      );
    });

  const refused: readonly (readonly [what: string, lines: readonly string[], why: RegExp])[] = [
    ['a phase that comes back', [...begun, ...phases('RUNNING', 'copy')], /copy after changes/],
    [
      'a phase that comes back in another process',
      [...begun, ...boot('RUNNING'), ...phases('RUNNING', 'copy')],
      /copy after changes/,
    ],
    ['the same phase without new work', [...begun, ...phases('RUNNING', 'changes')], /again/],
    [
      'a phase that is left out',
      [...boot('IDLE'), line('started'), ...phases('RUNNING', 'catalog', 'changes')],
      /changes after catalog/,
    ],
    [
      'a commit that restores nothing',
      [...begun, line('committing'), ...phases('COMMITTED', 'done'), line('committed')],
      /done after changes/,
    ],
    ['an end in the middle', [...begun, line('committed')], /committed in changes/],
    [
      'a process that restores before the commit',
      [...begun, ...phases('RUNNING', 'restoring')],
      /no such phase in that state/,
    ],
    [
      'work while it is paused',
      [...begun, line('paused'), ...phases('RUNNING', 'changes')],
      /work in PAUSED/,
    ],
    ['a resume without a pause', [...begun, line('resumed')], /the state was RUNNING/],
    ['a second start', [...begun, line('started')], /the state was RUNNING/],
    ['a commit during the copy', [...begun.slice(0, -1), line('committing')], /a commit in copy/],
    [
      'users that write before the commit',
      [...begun, line('users may write to the destination')],
      /in changes/,
    ],
    [
      'a commit that is forgotten',
      [...committed, ...boot('COMMITTING')],
      /finds COMMITTING after COMMITTED/,
    ],
    [
      'a commit that is taken back',
      [...begun, line('committing'), ...boot('RUNNING')],
      /finds RUNNING after COMMITTING/,
    ],
    ['a sync that is lost', [...begun, ...boot('IDLE')], /finds IDLE after RUNNING/],
    [
      'work before the stored state is read',
      [...begun, line('listening'), ...phases('RUNNING', 'changes')],
      /has not been read/,
    ],
    ['a reversal without a commit', [...begun, line('reversing')], /the state was RUNNING/],
    [
      'a sync that continues after its commit',
      [...committed, ...phases('RUNNING', 'changes')],
      /the state was COMMITTED/,
    ],
    ['a move without a reversal', [...begun, line('reversed')], /reversed in changes/],
  ];
  for (const [what, lines, why] of refused)
    it(`refuses ${what}`, () => {
      assert.throws(() => checkTrace(lines.join('\n')), why);
    });

  it('lets one of several instances hear of several steps at once', () => {
    const lines = [...begun, ...phases('COMMITTED', 'done'), line('committed')].join('\n');
    assert.ok(checkTrace(lines, { isShared: true }) > 0);
    assert.throws(() =>
      checkTrace([...begun, ...phases('RUNNING', 'copy')].join('\n'), { isShared: true }),
    );
  });
});
