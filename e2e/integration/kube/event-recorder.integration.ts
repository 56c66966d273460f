import assert from 'node:assert/strict';
import {
  configMaps,
  events,
  namespaces,
  type Event,
} from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { EventRecorder } from '../../../operator/kube/event-recorder.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { createLogger } from '../../../service/logger.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from './use-api-server.ts';

describe('EventRecorder, on a real API server', () => {
  const namespace = 'default';
  const signal = new AbortController().signal;
  let client: KubeClient;
  let recorder: EventRecorder;
  let stop: AbortController;
  let running: Promise<void>;
  let regarding: KubeObject;
  let logged: string[];
  let tests = 0;

  useApiServer((_server, itsClient) => {
    client = itsClient;
  });

  beforeEach(async () => {
    const metadata = { namespace, name: `eventful-${tests++}` };
    regarding = await client.create(configMaps, { metadata }, { signal });
    logged = [];
    recorder = new EventRecorder({
      client,
      logger: createLogger('test', 'warn', (line) => logged.push(line)),
      controller: 'example.dev/test',
      instance: 'test-0',
    });
    stop = new AbortController();
    running = recorder.run(stop.signal);
  });

  afterEach(async () => {
    stop.abort();
    await running;
  });

  async function written(): Promise<readonly Event[]> {
    const fieldSelector = `regarding.name=${regarding.metadata.name}`;
    return (await client.list(events, { namespace, fieldSelector, signal })).items;
  }

  const warning = (note: string) =>
    ({ regarding, type: 'Warning', reason: 'CannotConnect', action: 'Connecting', note }) as const;

  it('writes one for the same thing, with a count', async () => {
    const draft = warning('mongodb://user:secret@host/ does not answer');
    recorder.record(draft);
    await until('the event is there', async () => (await written()).length === 1);
    recorder.record(draft);
    recorder.record(draft);
    recorder.record({ ...draft, type: 'Normal', reason: 'Connected', note: 'ü'.repeat(5000) });
    await until('both are there, and the first is counted', async () => {
      const found = await written();
      return found.length === 2 && found.some(({ series }) => series?.count === 3);
    });
    stop.abort();
    await running;
    const all = await written();
    assert.equal(all.length, 2);
    const counted = all.find(({ type }) => type === 'Warning');
    assert.equal(counted?.note, 'mongodb://<credentials>@host/ does not answer');
    assert.equal(counted.regarding?.uid, regarding.metadata.uid);
    assert.equal(all.find(({ type }) => type === 'Normal')?.note, 'ü'.repeat(512));
  });

  it('begins a new one when the API server has forgotten the old one', async () => {
    recorder.record(warning('no answer'));
    await until('the event is there', async () => (await written()).length === 1);
    for (const { metadata } of await written()) await client.delete(events, metadata, { signal });
    recorder.record(warning('no answer'));
    await until('it is there again', async () => (await written())[0]?.series?.count === 2);
  });

  it('writes 25 at once about one object, and no more for a while', async () => {
    for (let count = 0; count < 40; count += 1) recorder.record(warning(`${count} failures`));
    await until('25 are there', async () => (await written()).length === 25);
    stop.abort();
    await running;
    assert.equal((await written()).length, 25);
  });

  it('drops what the API server refuses, logs that, and continues', async () => {
    recorder.record({ ...warning('no action'), action: '' });
    await until('it is logged', () => logged.some((line) => line.includes('event not written')));
    recorder.record(warning('no answer'));
    await until('the next is there', async () => (await written()).length === 1);
  });

  it('writes what was recorded last before it stops, about an object of the cluster too', async () => {
    const cluster = await client.get(namespaces, { name: 'default' }, { signal });
    stop.abort();
    recorder.record({
      regarding: cluster,
      type: 'Normal',
      reason: 'Stopped',
      action: 'Stopping',
      note: 'the program stops',
    });
    await running;
    const { items } = await client.list(events, { fieldSelector: 'reason=Stopped', signal });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.namespace),
      ['default'],
    );
  });

  it('writes the event of another namespace after one of 500 that came before it, and forgets none of it', async () => {
    stop.abort();
    await running;
    const name = `quiet-${regarding.metadata.name}`;
    await client.create(namespaces, { metadata: { name } }, { signal });
    const metadata = { namespace: name, name: 'quiet' };
    const quiet = await client.create(configMaps, { metadata }, { signal });
    const few = new EventRecorder({
      client,
      logger: createLogger('test', 'fatal'),
      controller: 'example.dev/fair',
      instance: 'test-0',
      maxSeries: 100,
    });
    const draft = (object: KubeObject, note: string) => ({ ...warning(note), regarding: object });
    few.record(draft(quiet, 'first'));
    for (let count = 0; count < 500; count += 1) {
      const uid = `broken-${count}`;
      const broken = { ...regarding, metadata: { ...regarding.metadata, uid } };
      few.record(draft(broken, 'broken'));
    }
    few.record(draft(quiet, 'last'));
    const enough = new AbortController();
    const writing = few.run(enough.signal);
    await until('its last event is there', async () => {
      const { items } = await client.list(events, { namespace: name, signal });
      return items.some(({ note }) => note === 'last');
    });
    enough.abort();
    await writing;
    const fieldSelector = 'reportingController=example.dev/fair';
    const { items } = await client.list(events, { fieldSelector, signal });
    const version = ({ metadata: { resourceVersion } }: Event): number => Number(resourceVersion);
    const order = items
      .toSorted((one, other) => version(one) - version(other))
      .map(({ note }) => note);
    assert.deepEqual(order.slice(0, 4), ['first', 'broken', 'last', 'broken']);
  });
});
