import assert from 'node:assert/strict';
import { configMaps, namespaces, secrets } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { FakeClock } from '../../../operator/kube/testing/fake-clock.ts';
import { SecretReader } from '../../../operator/operand/secret-reader.ts';
import { useApiServer } from './use-api-server.ts';

const { signal } = new AbortController();
const broken = 400;
const kind = 'Secret';

describe('SecretReader, on a real API server', () => {
  let client: KubeClient;

  useApiServer((_server, itsClient) => {
    client = itsClient;
  });

  async function makeSecret(
    namespace: string,
    name: string,
    values: Readonly<Record<string, string>>,
  ): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    await client.create(secrets, { metadata: { namespace, name }, data }, { signal });
  }

  it('reads the changed Secret of another namespace after 15 seconds, however many one has', async () => {
    const clock = new FakeClock();
    const reader = new SecretReader(client, clock);
    for (const namespace of ['broken', 'quiet'])
      await client.create(namespaces, { metadata: { name: namespace } }, { signal });
    // Whether they are there makes no difference.
    const readBroken = async (): Promise<void> => {
      for (let index = 0; index < broken; index++)
        await reader.read({ kind, namespace: 'broken', name: `secret-${index}` }, signal);
    };
    const ref = { namespace: 'quiet', name: 'uri' };
    const readQuiet = async (): Promise<string> => {
      const value = (await reader.read({ kind, ...ref }, signal))?.get('uri');
      assert.ok(value?.kind === 'whole');
      return Buffer.from(value.base64, 'base64').toString();
    };
    await makeSecret('quiet', 'uri', { uri: 'old' });
    await readBroken();
    assert.equal(await readQuiet(), 'old');
    await client.patch(
      secrets,
      ref,
      { data: { uri: Buffer.from('new').toString('base64') } },
      { signal },
    );
    await clock.advance(14_999);
    await readBroken();
    assert.equal(await readQuiet(), 'old');
    await clock.advance(1);
    await readQuiet();
    await clock.advance(100);
    assert.equal(await readQuiet(), 'new');
  });

  it('keeps 32 KiB of a Secret, and of its values the short ones', async () => {
    const reader = new SecretReader(client, new FakeClock());
    const large = 'x'.repeat(500_000);
    const ref = { kind, namespace: 'default', name: 'large' } as const;
    await makeSecret('default', 'large', {
      'a-large': large,
      uri: 'mongodb://a/',
      'z-large': large,
    });
    const base64 = Buffer.from('mongodb://a/').toString('base64');
    const values = await reader.read(ref, signal);
    assert.deepEqual(values?.get('uri'), { kind: 'whole', base64 });
    for (const name of ['a-large', 'z-large']) {
      const value = values.get(name);
      assert.ok(value?.kind === 'digest' && value.lastCertificate === undefined, name);
    }
  });

  it('reads the texts and the bytes of a ConfigMap, and takes it for no Secret of its name', async () => {
    const reader = new SecretReader(client, new FakeClock());
    const at = { namespace: 'default', name: 'trusted' };
    const bytes = Buffer.from([0xff, 0]).toString('base64');
    await client.create(
      configMaps,
      { metadata: at, data: { 'ca.crt': 'größer', none: '' }, binaryData: { bytes } },
      { signal },
    );
    const read = async (of: 'Secret' | 'ConfigMap') =>
      await reader.read({ kind: of, ...at }, signal);
    for (let again = 0; again < 2; again++) {
      assert.equal(await read('Secret'), undefined);
      const text = Buffer.from('größer').toString('base64');
      const expected = Object.entries({ none: '', bytes, 'ca.crt': text }).map(
        ([key, base64]) => [key, { kind: 'whole', base64 }] as const,
      );
      assert.deepEqual(await read('ConfigMap'), new Map(expected));
    }
  });
});
