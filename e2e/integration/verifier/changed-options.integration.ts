import assert from 'node:assert/strict';
import { verifierOptionTable, type VerifierOptions } from '../../../verifier/options.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type Progress, type VerifierSession } from './verifier-session.ts';

type Option = keyof typeof verifierOptionTable;

/** What a process finds of a verification that a former one, with another value of an option, has begun. */
type Outcome =
  /** It is another one: the process is refused, by name. */
  | 'refused'
  /** Nothing of the former one is left: it begins again. */
  | 'begun again'
  /** It is that one. The option says how it is carried out or told, not what is compared. */
  | 'the same';

const otherSubject = /^"CheckFailed: .*of other clusters or namespaces.*--clean.*--attempt/;

type Changed = Partial<VerifierOptions>;

interface Row {
  readonly _id: number;
}

/** What a test calls the verification: one that is complete, one that compares what changes, and one that was not asked for yet. */
type Stage = 'complete' | 'running' | 'idle';

describe('a verification that another process continues, which has another value of', () => {
  const pair = useReplicaSetPair();
  let uris: Pick<VerifierOptions, 'srcURI' | 'destURI'>;

  before(async () => {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    uris = { srcURI, destURI };
    for (const client of pair.clients)
      await client.db('shop').collection<Row>('items').insertOne({ _id: 1 });
    // What a verification of shop alone does not see.
    await pair.clients[0]?.db('depot').collection<Row>('items').insertOne({ _id: 1 });
  });

  function given(verification: Stage): typeof uris & Partial<VerifierOptions> {
    const includeNamespaces = '[{"database": "shop"}]';
    const rest = { verification, attempt: 1, clean: false, verifyAll: false, includeNamespaces };
    return { ...uris, metaURI: uris.destURI, ...rest };
  }

  async function begin(stage: Stage): Promise<void> {
    await using session = await openSession(given(stage));
    if (stage === 'idle') return;
    await session.post('check');
    if (stage === 'complete') {
      await session.post('writesOff');
      assert.equal((await session.untilComplete()).verdict, 'equal');
    } else {
      await until('all is compared', async () => (await session.progress()).documentsCompared > 0);
    }
  }

  /** Each option with another value; undefined for those that say how the API is served, and where options stand. */
  const options: Readonly<Record<Option, readonly [Outcome, (() => Changed)?]>> = {
    srcURI: ['refused', () => ({ srcURI: uris.destURI })],
    destURI: ['refused', () => ({ destURI: uris.srcURI })],
    verifyAll: ['refused', () => ({ verifyAll: true, includeNamespaces: undefined })],
    includeNamespaces: ['refused', () => ({ includeNamespaces: '[{"database": "depot"}]' })],
    excludeNamespaces: [
      'refused',
      () => ({ excludeNamespaces: '[{"database": "shop", "collections": ["a"]}]' }),
    ],
    id: ['the same', () => ({ id: 'another' })],
    comparison: ['the same', () => ({ comparison: 'hashes' })],
    reportValues: ['the same', () => ({ reportValues: true })],
    workers: ['the same', () => ({ workers: 1 })],
    partitionMebibytes: ['the same', () => ({ partitionMebibytes: 1 })],
    maxBytesPerSecond: ['the same', () => ({ maxBytesPerSecond: 1_000_000 })],
    readPreference: ['the same', () => ({ readPreference: 'nearest' })],
    logLevel: ['the same', () => ({ logLevel: 'info' })],
    host: ['the same', () => ({ host: '::' })],
    port: ['the same'],
    apiToken: ['the same'],
    apiTokenHash: ['the same'],
    connectionFiles: ['the same'],
    tlsCertificateFile: ['the same'],
    tlsKeyFile: ['the same'],
    ...{ srcUser: ['the same'], srcPassword: ['the same'] },
    ...{ destUser: ['the same'], destPassword: ['the same'] },
    ...{ metaUser: ['the same'], metaPassword: ['the same'] },
    ...{ srcServerName: ['the same'], destServerName: ['the same'], metaServerName: ['the same'] },
    ...{ srcCaFile: ['the same'], srcCertificateFile: ['the same'], srcKeyFile: ['the same'] },
    ...{ destCaFile: ['the same'], destCertificateFile: ['the same'], destKeyFile: ['the same'] },
    ...{ metaCaFile: ['the same'], metaCertificateFile: ['the same'], metaKeyFile: ['the same'] },
    config: ['the same'],
    // These delete all of it, or use another store: they come last.
    metaURI: ['begun again', () => ({ metaURI: pair.sets[0]?.uri('admin') })],
    verification: ['begun again', () => ({ verification: 'another' })],
    attempt: ['begun again', () => ({ attempt: 2 })],
    clean: ['begun again', () => ({ clean: true, attempt: 2 })],
  };

  it('option: each of the verifier has its place', () => {
    assert.deepEqual(Object.keys(options).sort(), Object.keys(verifierOptionTable).sort());
  });

  for (const stage of ['complete', 'running'] as const) {
    it(`each option once, where it is ${stage}`, async () => {
      await begin(stage);
      for (const [name, [outcome, to]] of Object.entries(options)) {
        if (!to) continue;
        await using session = await openSession({ ...given(stage), ...to() });
        const found = await foundBy(session);
        if (outcome === 'refused') {
          assert.match(JSON.stringify(found), otherSubject, name);
          assert.equal((await session.post('check')).body['error'], 'CheckFailed', name);
          continue;
        }
        assert.ok(typeof found === 'object', `${name}: ${JSON.stringify(found)}`);
        const isSame = outcome === 'the same';
        assert.equal(found.verdict, isSame && stage === 'complete' ? 'equal' : null, name);
        assert.equal(found.documentsCompared, isSame ? 1 : 0, name);
        assert.equal(found.startedAt !== null, isSame, name);
      }
    });
  }

  it('what is compared, where it has not begun: it is another one from then on', async () => {
    await begin('idle');
    for (const [name, [outcome, to]] of Object.entries(options)) {
      if (outcome !== 'refused' || !to) continue;
      await using session = await openSession({ ...given('idle'), ...to() });
      const found = await foundBy(session);
      assert.ok(typeof found === 'object', `${name}: ${JSON.stringify(found)}`);
      assert.deepEqual([found.phase, found.verdict, found.startedAt], ['idle', null, null], name);
    }
  });
});

/** Progress, or the error that it answers. */
async function foundBy(session: VerifierSession): Promise<Progress | string> {
  const { status, body } = await session.get('/api/v1/progress');
  return status === 200 ? (body['progress'] as Progress) : String(body['error']);
}
