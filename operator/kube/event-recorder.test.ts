import assert from 'node:assert/strict';
import { createLogger } from '../../service/logger.ts';
import type { Event } from './builtin-resources.ts';
import type { KubeClient } from './client.ts';
import { EventRecorder, type EventDraft } from './event-recorder.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject } from './resource.ts';
import { FakeClock } from './testing/fake-clock.ts';

const minute = 60_000;

function about(name: string, { namespace = 'shop', uid = name } = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid } };
}

function draft(note: string, regarding = about('orders')): EventDraft {
  return { regarding, type: 'Warning', reason: 'CannotConnect', action: 'Connect', note };
}

function refusal(statusCode: number): KubeError {
  return new KubeError({ request: 'POST /', statusCode, reason: 'Refused', message: 'no' });
}

describe('EventRecorder', () => {
  let clock: FakeClock;
  let logged: string[];
  let stop: AbortController;
  let running: Promise<void>;
  /** What the API server was asked, with the count of the event. */
  let asked: string[];
  let created: Event[];
  /** What the API server answers. */
  let answer: (request: 'create' | 'patch') => Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    logged = [];
    stop = new AbortController();
    running = Promise.resolve();
    asked = [];
    created = [];
    answer = () => Promise.resolve();
  });

  afterEach(async () => {
    stop.abort();
    await running;
    assert.equal(clock.pendingTimers, 0, 'no timer is left behind');
  });

  function recorderOf(maxSeries?: number): EventRecorder {
    const client = {
      create: async (_: unknown, event: Event) => {
        asked.push(`create ${event.note ?? ''} ${event.series?.count ?? 1}`);
        created.push(event);
        await answer('create');
      },
      patch: async (_: unknown, __: unknown, { series }: Pick<Event, 'series'>) => {
        asked.push(`patch ${series?.count ?? 0}`);
        await answer('patch');
      },
    } as unknown as KubeClient;
    return new EventRecorder({
      client,
      logger: createLogger('test', 'warn', (line) => logged.push(line)),
      controller: 'example.dev/test',
      instance: 'test-0',
      clock,
      ...(maxSeries !== undefined && { maxSeries }),
    });
  }

  function start(maxSeries?: number): EventRecorder {
    const recorder = recorderOf(maxSeries);
    running = recorder.run(stop.signal);
    return recorder;
  }

  it('counts what is repeated again and again, and begins a new event after a pause of six minutes', async () => {
    const recorder = start();
    for (const pauseMs of [0, 5 * minute, 5 * minute, 6 * minute - 1, 6 * minute]) {
      await clock.advance(pauseMs);
      recorder.record(draft('a'));
    }
    await clock.advance(0);
    assert.deepEqual(asked, ['create a 1', 'patch 2', 'patch 3', 'patch 4', 'create a 1']);
    assert.notEqual(created[0]?.metadata.name, created[1]?.metadata.name);
  });

  it('tries five times to write an event, two seconds apart, before it drops it', async () => {
    const recorder = start();
    answer = () => Promise.reject(refusal(500));
    recorder.record(draft('a'));
    await clock.advance(4 * 2_000 - 1);
    assert.equal(asked.length, 4);
    assert.deepEqual(logged, []);
    await clock.advance(minute);
    assert.equal(asked.length, 5);
    assert.equal(logged.length, 1);
  });

  it('counts the failures since the last success alone', async () => {
    const recorder = start();
    for (let round = 0; round < 2; round++) {
      const failed = asked.length + 4;
      answer = () => (asked.length <= failed ? Promise.reject(refusal(500)) : Promise.resolve());
      recorder.record(draft('a'));
      await clock.advance(4 * 2_000);
    }
    assert.equal(asked.at(-1), 'patch 2');
    assert.deepEqual(logged, []);
  });

  it('sends once what the API server can never take', async () => {
    const recorder = start();
    answer = () => Promise.reject(refusal(422));
    recorder.record(draft('a'));
    await clock.advance(minute);
    assert.equal(asked.length, 1);
    assert.equal(logged.length, 1);
  });

  it('creates an event again that the API server has forgotten, and none that it only cannot count', async () => {
    const recorder = start();
    recorder.record(draft('a'));
    await clock.advance(0);
    for (const statusCode of [500, 404]) {
      answer = async (request) => {
        answer = () => Promise.resolve();
        if (request === 'patch') await Promise.reject(refusal(statusCode));
      };
      recorder.record(draft('a'));
      await clock.advance(2_000);
    }
    assert.deepEqual(asked, ['create a 1', 'patch 2', 'patch 2', 'patch 3', 'create a 3']);
  });

  it('writes later what is repeated while it is being written', async () => {
    const recorder = start();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    answer = () => promise;
    recorder.record(draft('a'));
    await clock.advance(0);
    recorder.record(draft('a'));
    resolve(undefined);
    await clock.advance(2_000);
    assert.deepEqual(asked, ['create a 1', 'patch 2']);
    await clock.advance(minute);
    assert.equal(asked.length, 2);
  });

  it('tries once more at the end to write what has failed', async () => {
    const recorder = start();
    answer = () => Promise.reject(refusal(500));
    recorder.record(draft('a'));
    await clock.advance(0);
    answer = () => Promise.resolve();
    stop.abort();
    await running;
    assert.deepEqual(asked, ['create a 1', 'create a 1']);
  });

  it('limits the events of each object, and not those of another one of its name', async () => {
    const recorder = start();
    for (const uid of ['one', 'two'])
      for (let count = 0; count < 26; count++)
        recorder.record(draft(`${uid} ${count}`, about('orders', { uid })));
    await clock.advance(minute);
    const writtenOf = (uid: string): number =>
      created.filter(({ regarding }) => regarding?.uid === uid).length;
    assert.deepEqual([writtenOf('one'), writtenOf('two')], [25, 25]);
    await clock.advance(4 * minute + 2_000);
    assert.deepEqual([writtenOf('one'), writtenOf('two')], [26, 26]);
  });

  it('takes apart the rates of objects without uid by kind, namespace and name', async () => {
    const recorder = start();
    const bare = (kind: string, namespace: string, name: string): KubeObject => ({
      ...{ apiVersion: 'v1', kind },
      metadata: { namespace, name },
    });
    const objects = [bare('Pod', 'a', 'x'), bare('Pod', 'a', 'y'), bare('Pod', 'b', 'x')];
    for (const each of [...objects, bare('Service', 'a', 'x')])
      for (let count = 0; count < 25; count++) recorder.record(draft(`${count}`, each));
    await clock.advance(1_000);
    assert.equal(created.length, 100);
  });

  it('forgets an event of the namespace that has the most: one that is written, else the oldest', async () => {
    const recorder = recorderOf(4);
    const [quiet, busy] = [about('a', { namespace: 'quiet' }), about('b', { namespace: 'busy' })];
    recorder.record(draft('first', quiet));
    for (const note of ['1', '2', '3']) recorder.record(draft(note, busy));
    recorder.record(draft('second', quiet));
    recorder.record(draft('4', busy));
    running = recorder.run(stop.signal);
    await clock.advance(0);
    const notes = (): (string | undefined)[] => created.map(({ note }) => note).sort();
    assert.deepEqual(notes(), ['3', '4', 'first', 'second']);

    created = [];
    answer = () => (created.length === 1 ? Promise.reject(refusal(500)) : Promise.resolve());
    for (const note of ['5', '6']) recorder.record(draft(note, busy));
    await clock.advance(0);
    recorder.record(draft('7', busy));
    await clock.advance(2_000);
    assert.deepEqual(notes(), ['5', '5', '6', '7']);
  });

  it('cuts a note at 1 kB, between two characters', async () => {
    const recorder = start();
    const fits = 'ü'.repeat(512);
    for (const [name, note] of [
      ['fits', fits],
      ['cut', `a${fits}`],
      ['long', `a${'😀'.repeat(500)}`],
    ] as const)
      recorder.record(draft(note, about(name)));
    await clock.advance(0);
    const notes = new Map(created.map(({ regarding, note }) => [regarding?.name, note]));
    assert.equal(notes.get('fits'), fits);
    assert.equal(notes.get('cut'), `a${'ü'.repeat(511)}`);
    assert.equal(notes.get('long'), `a${'😀'.repeat(255)}`);
  });

  it('names an event after its object, as long as a name may be', async () => {
    const recorder = start();
    recorder.record(draft('a', about('x'.repeat(253))));
    await clock.advance(0);
    const name = created[0]?.metadata.name ?? '';
    assert.match(name, /^x+\.[0-9a-f]{16}$/);
    assert.ok(name.length <= 253, `${name.length}`);
  });
});
