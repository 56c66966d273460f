import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Ajv } from 'ajv';
import { otherOptions } from '../../sync-api/testing/start-examples.ts';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { tokenArgument } from '../operand/workload.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import { startBody } from './resources.ts';
import {
  answers,
  clusterSync,
  emptyWorld,
  failure,
  phaseAndReadiness,
  refused,
  runningPod,
  runningWorld,
} from './testing/worlds.ts';

function commandsIn(world: World, spec: Partial<ClusterSyncSpec> = {}): string[] {
  return decide(clusterSync(spec), world).commands.map(
    ({ id, command }) => `${command.name} ${id}`,
  );
}

const committed = { state: 'Committed' } as const;
const paused = { state: 'Paused' } as const;

describe('a ClusterSync that names an image', () => {
  it('runs none that nobody has allowed', () => {
    const of = (image: string) =>
      decide(clusterSync({ syncer: { resources: {}, logLevel: 'info', image } }), emptyWorld());
    const { objects, status } = of('evil.dev/syncer:1');
    assert.equal(objects, undefined);
    assert.equal(phaseAndReadiness(status), 'Stalled: False ImageNotAllowed');
    assert.ok(of('example.dev/syncer:1').objects);
  });
});

describe('a ClusterSync with a template of its pods', () => {
  const of = (spec: Readonly<Record<string, unknown>>) =>
    decide(
      clusterSync({ syncer: { resources: {}, logLevel: 'info', podTemplate: { spec } } }),
      emptyWorld(),
    );

  it('has no pods with a field that nobody has allowed, or that the operator relies on', () => {
    for (const [spec, reason] of [
      [{ hostAliases: [] }, 'PodFieldNotAllowed'],
      [{ hostNetwork: true }, 'InvalidPodTemplate'],
    ] as const) {
      const { objects, status } = of(spec);
      assert.equal(objects, undefined);
      assert.equal(phaseAndReadiness(status), `Stalled: False ${reason}`);
    }
  });

  it('has pods with one that is allowed', () => {
    const { objects } = of({ priorityClassName: 'low' });
    assert.equal(objects?.statefulSet.spec?.template?.spec?.priorityClassName, 'low');
  });
});

describe('a ClusterSync whose syncers serve HTTPS', () => {
  const [certificate = ''] = rootCertificates;
  const spec = {
    syncer: { resources: {}, logLevel: 'info', tls: { secretName: 'orders-tls' } },
  } as const;
  const authority = {
    kind: 'found',
    value: Buffer.from(certificate).toString('base64'),
  } as const;
  const missing = { kind: 'missing', description: 'there is no Secret orders-tls' } as const;

  it('asks them by HTTPS, and knows them by authority and name', () => {
    const { targets } = decide(clusterSync(spec), { ...runningWorld(undefined), authority });
    const [target] = targets.values();
    assert.match(target?.baseUrl ?? '', /^https:/);
    assert.deepEqual(target?.trust, {
      authority: certificate,
      serverName: 'orders-syncer.shop.svc',
    });
  });

  it('sends nothing to them, the token included, while the authority is not known', () => {
    const world = { ...runningWorld(answers.idle), authority: missing };
    const { targets, objects, status } = decide(clusterSync(spec), world);
    assert.equal(targets.size, 0);
    assert.ok(objects, 'pods that run stay as they are');
    assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.reason, 'SecretNotFound');
  });

  it('has no pods before the authority is known, and none of it matters after the commit', () => {
    const source = { kind: 'ReplicaSet', shards: ['old'] } as const;
    const given = clusterSync(spec, { source });
    assert.equal(decide(given, emptyWorld({ authority: missing })).objects, undefined);
    assert.ok(decide(given, emptyWorld({ authority })).objects);
    const done = { ...committed, ...spec };
    const { status } = decide(clusterSync(done), {
      ...runningWorld(answers.committed),
      authority,
    });
    const rested = decide(clusterSync(done, status), emptyWorld({ authority: missing }));
    assert.equal(rested.status.phase, 'Committed');
    assert.equal(rested.status.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
  });
});

describe('the commands of a ClusterSync', () => {
  const cases: readonly (readonly [string, World, Partial<ClusterSyncSpec>, readonly string[]])[] =
    [
      ['starts what is idle', runningWorld(answers.idle), {}, ['start old']],
      ['starts what is to be committed', runningWorld(answers.idle), committed, ['start old']],
      ['starts nothing that is to be paused', runningWorld(answers.idle), paused, []],
      ['pauses what copies', runningWorld(answers.copy), paused, ['pause old']],
      ['pauses what applies changes', runningWorld(answers.changes), paused, ['pause old']],
      ['pauses nothing that is paused', runningWorld(answers.paused), paused, []],
      ['pauses nothing that commits', runningWorld(answers.committing), paused, []],
      ['resumes what is to run', runningWorld(answers.paused), {}, ['resume old']],
      ['resumes what is to be committed', runningWorld(answers.paused), committed, ['resume old']],
      ['resumes nothing when suspended', runningWorld(answers.paused), { suspend: true }, []],
      ['starts nothing when suspended', runningWorld(answers.idle), { suspend: true }, []],
      ['sends nothing during the copy', runningWorld(answers.copy), committed, []],
      ['does not commit unasked', runningWorld(answers.changes), {}, []],
      ['commits when asked and possible', runningWorld(answers.changes), committed, ['commit old']],
      [
        'does not commit when suspended',
        runningWorld(answers.changes),
        { ...committed, suspend: true },
        [],
      ],
      ['sends nothing while it commits', runningWorld(answers.committing), committed, []],
      ['sends nothing when it is committed', runningWorld(answers.committed), committed, []],
      [
        'sends nothing to what reports an error',
        runningWorld(failure('AuthenticationFailed')),
        {},
        [],
      ],
      ['sends nothing before there is an answer', runningWorld(undefined), {}, []],
      [
        'sends nothing on the word of a former process',
        runningWorld(answers.idle, { observation: { process: 'another' } }),
        {},
        [],
      ],
      [
        'sends nothing while it does not answer',
        runningWorld(answers.idle, {
          observation: { unreachable: { sinceMs: nowMs - 1, description: '' } },
        }),
        {},
        [],
      ],
      [
        'sends nothing while a command is under way',
        runningWorld(answers.idle, {
          observation: { command: { name: 'start', kind: 'sending' } },
        }),
        {},
        [],
      ],
      [
        'waits for an answer that is newer than the command',
        runningWorld(answers.idle, {
          observation: { command: { name: 'start', kind: 'taken', endedMs: nowMs - 50 } },
        }),
        {},
        [],
      ],
      [
        'starts again what was started and is idle: the process has lost its state',
        runningWorld(answers.idle, {
          observation: { command: { name: 'start', kind: 'taken', endedMs: nowMs - 5_000 } },
        }),
        {},
        ['start old'],
      ],
      [
        'does not repeat at once what was refused',
        runningWorld(answers.idle, {
          observation: { command: refused('start', 'DestinationNotEmpty') },
        }),
        {},
        [],
      ],
      [
        'repeats later what was refused',
        runningWorld(answers.idle, {
          nowMs: nowMs + 10_000,
          observation: { command: refused('start', 'DestinationNotEmpty') },
        }),
        {},
        ['start old'],
      ],
      [
        'commits though a start was refused before',
        runningWorld(answers.changes, {
          observation: { command: refused('start', 'DestinationNotEmpty') },
        }),
        committed,
        ['commit old'],
      ],
    ];
  for (const [what, world, spec, expected] of cases) {
    it(what, () => {
      assert.deepEqual(commandsIn(world, spec), expected);
    });
  }

  it('never starts again what was committed, though the process knows nothing of it', () => {
    const { status } = decide(clusterSync(committed), runningWorld(answers.committed));
    const later = decide(clusterSync(committed, status), runningWorld(answers.idle));
    assert.deepEqual(later.commands, []);
    assert.equal(later.status.phase, 'Committed');
  });

  it('sends nothing to what is being deleted, and makes nothing for it', () => {
    const object = clusterSync();
    const metadata = { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const decision = decide({ ...object, metadata }, runningWorld(answers.idle));
    assert.deepEqual(decision.commands, []);
    assert.equal(decision.objects, undefined);
  });

  it('sends the options that every tool knows, and others where they are chosen', () => {
    const body = {
      ...{ source: 'cluster0', destination: 'cluster1' },
      ...{ buildIndexes: 'beforeDataCopy', enableUserWriteBlocking: false, reversible: false },
    };
    assert.deepEqual(startBody(clusterSync()), body);
    assert.deepEqual(startBody(clusterSync({ initialData: 'Absent' })), body);
    for (const [name, , other] of otherOptions)
      assert.deepEqual(startBody(clusterSync(other)), { ...body, ...other }, name);
  });

  it('sends a body that the schema of the syncer takes', () => {
    const url = new URL('../../sync-api/start-body.schema.json', import.meta.url);
    const schema = JSON.parse(readFileSync(url, 'utf8')) as object;
    const validate = new Ajv({
      keywords: ['x-flag'],
      allowUnionTypes: true,
      strictRequired: false,
    }).compile(schema);
    for (const spec of [
      {},
      {
        includeNamespaces: [{ database: 'a', collectionsRegex: { pattern: 'x' } }],
        excludeNamespaces: [{ databaseRegex: { pattern: 'x', options: 'i' } }],
        sharding: {
          createSupportingIndexes: false,
          shardingEntries: [
            { database: 'a', collection: 'b', shardCollection: { key: [{ c: 1 }] } },
          ],
        },
      },
    ]) {
      const body = startBody(clusterSync(spec));
      assert.ok(validate(body), JSON.stringify(validate.errors));
    }
  });
});

describe('the objects of a ClusterSync', () => {
  it('hears no pod that was started with another token, as those of a former operator, and makes new ones', () => {
    const former = decide(clusterSync(), runningWorld(answers.changes, { token: 'another' }));
    assert.equal(former.targets.size, 0);
    assert.deepEqual(former.commands, []);
    assert.equal(phaseAndReadiness(former.status), 'Pending: False PodPending');
    const args = former.objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args;
    assert.ok(args?.includes(tokenArgument('another')), args?.join(' '));
    assert.equal(decide(clusterSync(), runningWorld(answers.changes)).targets.size, 1);
  });

  it('makes no pods without the connection strings', () => {
    const missing = { kind: 'missing', description: 'there is no Secret new-uri' } as const;
    assert.equal(decide(clusterSync(), emptyWorld({ destination: missing })).objects, undefined);
  });

  it('makes new pods when a connection string or the token is another one', () => {
    const hash = (parts: Partial<World>): unknown =>
      decide(clusterSync(), emptyWorld(parts)).objects?.statefulSet.spec?.template?.metadata
        ?.annotations?.['clustersync.dev/secrets-hash'];
    const first = hash({ token: 'a' });
    assert.equal(hash({ token: 'a' }), first);
    assert.notEqual(hash({ token: 'b' }), first);
    assert.notEqual(hash({ token: 'a', source: { kind: 'found', value: 'x' } }), first);
    assert.notEqual(hash({ token: 'a', destination: { kind: 'found', value: 'x' } }), first);
  });

  it('keeps the pods when a Secret is gone', () => {
    const { objects } = decide(clusterSync(), emptyWorld());
    const running = runningWorld(answers.changes, {
      source: { kind: 'missing', description: '' },
      statefulSet: {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'orders-syncer' },
        spec: objects?.statefulSet.spec as never,
      },
    });
    assert.deepEqual(
      decide(clusterSync(), running).objects?.statefulSet.spec?.template,
      objects?.statefulSet.spec?.template,
    );
  });

  it('observes the pod at its address', () => {
    const { targets } = decide(clusterSync(), runningWorld(undefined));
    assert.deepEqual(
      [...targets],
      [
        [
          'old',
          {
            process: 'pod-uid/containerd://1',
            token: 'token',
            trust: undefined,
            baseUrl: 'http://10.1.2.3:27182',
          },
        ],
      ],
    );
  });

  it('waits with the status until the process has been asked', () => {
    assert.equal(decide(clusterSync(), runningWorld(undefined)).isStatusPending, true);
    assert.equal(decide(clusterSync(), runningWorld(answers.copy)).isStatusPending, false);
    assert.equal(decide(clusterSync(), emptyWorld()).isStatusPending, false);
  });

  it('forgets what a process said that is gone', () => {
    const pod = runningPod();
    const status = { ...pod.status, containerStatuses: [] };
    const world = runningWorld(answers.idle, {
      pods: new Map([['orders-syncer-0', { ...pod, status }]]),
    });
    const decision = decide(clusterSync(), world);
    assert.deepEqual(decision.commands, []);
    assert.equal(decision.targets.size, 0);
  });
});

describe('the events of a ClusterSync', () => {
  const eventsBetween = (
    worlds: readonly World[],
    spec: Partial<ClusterSyncSpec> = {},
  ): string[] => {
    let status;
    const seen: string[] = [];
    for (const world of worlds) {
      const decision = decide(clusterSync(spec, status), world);
      seen.push(...decision.events.map(({ type, reason }) => `${type} ${reason}`));
      status = decision.status;
    }
    return seen;
  };

  it('tell the way of a sync, each step once', () => {
    const { idle, copy, changes, committing, committed: done } = answers;
    const worlds = [idle, copy, copy, changes, changes, committing, done, done].map((answer) =>
      runningWorld(answer),
    );
    assert.deepEqual(eventsBetween([emptyWorld(), ...worlds], committed), [
      'Normal Started',
      'Normal InitialCopyDone',
      'Normal Committing',
      'Normal Committed',
    ]);
  });

  it('tell of a pause, once', () => {
    const worlds = [answers.changes, answers.paused, answers.paused].map((answer) =>
      runningWorld(answer),
    );
    assert.deepEqual(eventsBetween(worlds, paused), [
      'Normal Started',
      'Normal InitialCopyDone',
      'Normal Paused',
    ]);
    assert.deepEqual(eventsBetween([runningWorld(answers.idle)], paused), []);
  });

  it('warn of what stalls it, once', () => {
    const wrong = runningWorld(failure('AuthenticationFailed'));
    assert.deepEqual(eventsBetween([wrong, wrong]), ['Warning AuthenticationFailed']);
  });
});
