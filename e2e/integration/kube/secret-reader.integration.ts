import assert from 'node:assert/strict';
import { namespaces, secrets } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { FakeClock } from '../../../operator/kube/testing/fake-clock.ts';
import { SecretReader } from '../../../operator/operand/secret-reader.ts';
import { useApiServer } from './use-api-server.ts';

const { signal } = new AbortController();
const broken = 400;

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
        await reader.read({ namespace: 'broken', name: `secret-${index}` }, signal);
    };
    const ref = { namespace: 'quiet', name: 'uri' };
    const readQuiet = async (): Promise<string> => {
      const value = (await reader.read(ref, signal))?.data?.['uri'] ?? '';
      return Buffer.from(value, 'base64').toString();
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
    const ref = { namespace: 'default', name: 'large' };
    await makeSecret('default', 'large', {
      'a-large': large,
      uri: 'mongodb://a/',
      'z-large': large,
    });
    const { data = {} } = (await reader.read(ref, signal)) ?? {};
    assert.deepEqual(data, {
      'a-large': '',
      uri: Buffer.from('mongodb://a/').toString('base64'),
      'z-large': '',
    });
  });
});
