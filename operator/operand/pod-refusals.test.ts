import assert from 'node:assert/strict';
import type { Event } from '../kube/builtin-resources.ts';
import { refusalIn } from './pod-refusals.ts';

const nowMs = Date.UTC(2026, 0, 1, 12);

function at(secondsAgo: number): string {
  return new Date(nowMs - secondsAgo * 1000).toISOString();
}

/** As the controller of StatefulSets writes it, by the older API: seen on an API server 1.34. */
function event(reason: string, note: string, firstAgo: number, lastAgo = firstAgo): Event {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `orders-syncer.${reason}.${firstAgo}`, creationTimestamp: at(firstAgo) },
    ...{ eventTime: null, reason, note, type: reason === 'FailedCreate' ? 'Warning' : 'Normal' },
    ...{ deprecatedFirstTimestamp: at(firstAgo), deprecatedLastTimestamp: at(lastAgo) },
  } as unknown as Event;
}

const quota = 'pods "orders-syncer-0" is forbidden: exceeded quota: few, requested: pods=1';
const start = 'create Pod orders-syncer-0 in StatefulSet orders-syncer failed error: ';
const failed = start + quota;
const made = 'create Pod orders-syncer-0 in StatefulSet orders-syncer successful';

describe('refusalIn', () => {
  const cases: readonly (readonly [string, readonly Event[], string | undefined])[] = [
    ['no events', [], undefined],
    ['a pod that was made', [event('SuccessfulCreate', made, 5)], undefined],
    [
      'a pod that was made, and another that is refused',
      [
        event('FailedCreate', failed, 600, 5),
        event('SuccessfulCreate', made.replace('syncer-0', 'syncer-1'), 2),
      ],
      `lasting: ${quota}`,
    ],
    [
      'a refusal of another pod',
      [event('FailedCreate', failed.replace('-0 ', '-1 '), 5)],
      undefined,
    ],
    [
      'a repeated refusal, since a pod was made in between',
      [event('SuccessfulCreate', made, 59), event('FailedCreate', failed, 600, 5)],
      `new: ${quota}`,
    ],
    ['other events', [event('SuccessfulDelete', 'deleted', 5)], undefined],
    ['a refusal', [event('FailedCreate', failed, 5)], `new: ${quota}`],
    ['one that is repeated', [event('FailedCreate', failed, 60, 1)], `lasting: ${quota}`],
    ['one of just under a minute', [event('FailedCreate', failed, 59, 1)], `new: ${quota}`],
    [
      'one after a pod was made',
      [event('SuccessfulCreate', made, 600), event('FailedCreate', failed, 5)],
      `new: ${quota}`,
    ],
    [
      'one before a pod was made',
      [event('FailedCreate', failed, 600, 30), event('SuccessfulCreate', made, 20)],
      undefined,
    ],
    [
      'a new one after that: it does not last since before',
      [
        event('FailedCreate', failed, 600, 500),
        event('SuccessfulCreate', made, 400),
        event('FailedCreate', `${start}another reason`, 5),
      ],
      'new: another reason',
    ],
    [
      'several: the last one counts, since the first one',
      [event('FailedCreate', failed, 200, 100), event('FailedCreate', `${start}another reason`, 5)],
      'lasting: another reason',
    ],
  ];
  for (const [what, events, expected] of cases) {
    it(`tells ${what}`, () => {
      for (const ordered of [events, events.toReversed()]) {
        const refusal = refusalIn(ordered, 'orders-syncer-0', nowMs);
        const told = refusal && `${refusal.isLasting ? 'lasting' : 'new'}: ${refusal.message}`;
        assert.equal(told, expected);
      }
    });
  }

  it('reads the times of the newer API, too', () => {
    const newer = {
      ...event('FailedCreate', failed, 0),
      ...{ eventTime: at(90), series: { count: 2, lastObservedTime: at(1) } },
      ...{ deprecatedFirstTimestamp: undefined, deprecatedLastTimestamp: undefined },
    } as unknown as Event;
    assert.deepEqual(refusalIn([newer], 'orders-syncer-0', nowMs), {
      message: quota,
      isLasting: true,
    });
  });
});
