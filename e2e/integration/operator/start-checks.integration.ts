import assert from 'node:assert/strict';
import {
  StartChecks,
  type CheckRequest,
  type CheckView,
} from '../../../operator/clustersync/start-checks.ts';
import { systemClock } from '../../../operator/kube/clock.ts';
import { apiTargetAt } from '../../../operator/operand/http-api.ts';
import { createLogger } from '../../../service/logger.ts';
import { until } from '../../ground/until.ts';
import { LoopbackAddresses } from './loopback-addresses.ts';
import { idle, StandIn } from './stand-in.ts';

const port = 27182;
const longMs = 3_600_000;
const body = { source: 'cluster0', destination: 'cluster1' } as const;
const finding = {
  severity: 'warning',
  name: 'OplogTooShort',
  message: 'one hour',
  action: 'Wait.',
};
const blocker = { ...finding, severity: 'blocker' };

describe('the check that the operator asks a syncer for', () => {
  const addresses = new LoopbackAddresses();
  let address = '';
  let changes = 0;

  before(async () => {
    address = await addresses.reserve();
  });

  after(async () => {
    await addresses[Symbol.asyncDispose]();
  });

  function startChecks(): StartChecks {
    changes = 0;
    return new StartChecks({
      onChange: () => {
        changes += 1;
      },
      logger: createLogger('test', 'fatal'),
      clock: systemClock,
    });
  }

  function request(
    parts: Partial<CheckRequest> & { readonly process?: string } = {},
  ): CheckRequest {
    const { process = 'one', ...rest } = parts;
    const target = { ...apiTargetAt({ ip: address, port }, 'token', undefined), process };
    return { target, body, inputsHash: process, deadlineMs: longMs, notBeforeMs: 0, ...rest };
  }

  async function answerTo(
    answer: object | undefined,
    asked: Partial<CheckRequest> = {},
  ): Promise<CheckView> {
    await using syncer = await StandIn.start(address, port, idle);
    if (answer) syncer.answers.set('check', answer);
    await using checks = startChecks();
    checks.watch('a', request(asked));
    await until('it has ended', () => changes === 1);
    return checks.view('a');
  }

  const cases: readonly (readonly [string, object | undefined, object])[] = [
    [
      'findings',
      { success: true, canStart: true, findings: [finding] },
      { kind: 'found', canStart: true, omitted: 0 },
    ],
    [
      'a blocker, whatever else it says',
      { success: true, canStart: true, findings: [blocker] },
      { kind: 'found', canStart: false },
    ],
    ['nothing, since it does not have it', undefined, { kind: 'unsupported' }],
    ['no findings', { success: true }, { kind: 'failed' }],
    ['an error that may pass', { success: false, error: 'ClusterUnreachable' }, { kind: 'failed' }],
    [
      'that there is a sync',
      { success: false, error: 'InvalidStateTransition' },
      { kind: 'failed' },
    ],
    [
      'more than anybody reads',
      { success: true, canStart: true, findings: [{ ...finding, message: 'x'.repeat(2_000_000) }] },
      { kind: 'failed' },
    ],
  ];
  for (const [what, answer, expected] of cases) {
    it(`takes an answer for what it is: ${what}`, async () => {
      const view = { ...(await answerTo(answer)) } as Record<string, unknown>;
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(view[name], value);
    });
  }

  it('takes an error that every start would end with for a blocker', async () => {
    const view = await answerTo({
      ...{ success: false, error: 'NeverWithReversible', errorDescription: 'no such pattern' },
    });
    assert.ok(view.kind === 'found' && !view.canStart);
    const [found] = view.findings;
    assert.equal(found?.name, 'NeverWithReversible');
    assert.equal(found.severity, 'Blocker');
    assert.notEqual(found.action, undefined);
  });

  it('asks once, again for another question, and knows the last answer until there is another', async () => {
    await using syncer = await StandIn.start(address, port, idle);
    syncer.answers.set('check', { success: true, canStart: true, findings: [] });
    await using checks = startChecks();
    const one = request();
    assert.deepEqual(checks.view('a'), { kind: 'unknown' });
    for (let times = 0; times < 3; times++) checks.watch('a', one);
    await until('it has answered', () => changes === 1);
    checks.watch('a', one);
    assert.deepEqual(syncer.checks, [body]);
    const first = checks.view('a');
    assert.ok(first.kind === 'found');

    checks.watch('a', { ...one, notBeforeMs: first.askedMs + 1 });
    assert.equal(checks.view('a'), first);
    await until('it has answered again', () => changes === 2);
    checks.watch('a', request({ process: 'two' }));
    await until('another one has answered', () => changes === 3);
    const last = checks.view('a');
    assert.ok(last.kind === 'found' && last.process === 'two');
    checks.watch('a', undefined);
    assert.equal(checks.view('a'), last);
    assert.equal(syncer.checks.length, 3);
    checks.forget('a');
    assert.deepEqual(checks.view('a'), { kind: 'unknown' });
  });

  it('asks a syncer of another namespace, though 50 of one namespace do not answer', async () => {
    await using silent = await StandIn.start(address, port, idle);
    silent.isSilent = true;
    const ip = await addresses.reserve();
    await using syncer = await StandIn.start(ip, port, idle);
    syncer.answers.set('check', { success: true, canStart: true, findings: [] });
    await using checks = startChecks();
    for (let count = 0; count < 50; count += 1) checks.watch(`greedy/${count}`, request());
    await until('they are asked', () => silent.checks.length >= 20);
    const target = { ...apiTargetAt({ ip, port }, 'token', undefined), process: 'one' };
    checks.watch('modest/a', { ...request(), target });
    await until('it has answered', () => checks.view('modest/a').kind === 'found');
    assert.equal(silent.checks.length, 20);
  });

  it('hangs up when nobody wants to know any more', async () => {
    await using syncer = await StandIn.start(address, port, idle);
    syncer.isSilent = true;
    syncer.answers.set('check', { success: true, canStart: true, findings: [] });
    await using checks = startChecks();
    const one = request();
    checks.watch('a', one);
    await until('it is asked', () => syncer.checks.length === 1);
    checks.watch('a', undefined);
    await until('it has hung up', () => syncer.hungUp === 1);
    syncer.isSilent = false;
    checks.watch('a', one);
    await until('it has answered', () => checks.view('a').kind === 'found');
    assert.equal(syncer.checks.length, 2);
    assert.equal(changes, 1);
  });

  it('fails when its time is over, so that a start does not wait for longer', async () => {
    await using syncer = await StandIn.start(address, port, idle);
    syncer.isSilent = true;
    await using checks = startChecks();
    checks.watch('a', request({ deadlineMs: 200 }));
    await until('it has failed', () => changes === 1);
    const view = checks.view('a');
    assert.ok(view.kind === 'failed');
    assert.match(view.error.description, /no answer within 200 ms/);
  });
});
