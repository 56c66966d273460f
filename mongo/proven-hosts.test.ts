import assert from 'node:assert/strict';
import { deploymentDigest, provenHosts } from './proven-hosts.ts';

const question = { appName: 'test', refusesFiles: true, deployment: { clusterId: 'any' } };
const { signal } = new AbortController();

describe('provenHosts, of one host', () => {
  for (const [uri, tls, expected] of [
    ['mongodb://a:1/?replicaSet=rs', undefined, 'mongodb://a:1'],
    ['mongodb+srv://user@a.b.c/', undefined, 'mongodb+srv://a.b.c'],
    ['mongodb://a:1/', { servername: 'db.shop' }, 'mongodb://a:1/?serverName=db.shop'],
    ['mongodb+srv://a.b.c/', { servername: 'db.shop' }, 'mongodb+srv://a.b.c/?serverName=db.shop'],
  ] as const) {
    it(`is ${expected}: it alone can have led there`, async () => {
      assert.equal(await provenHosts({ uri, tls }, question, signal), expected);
    });
  }
});

describe('provenHosts, of what is no connection string', () => {
  it('is empty', async () => {
    assert.equal(await provenHosts({ uri: 'a:1', tls: undefined }, question, signal), '');
  });
});

describe('deploymentDigest', () => {
  it('tells deployments apart', () => {
    const [one, other] = ['6512bd43d9caa6e02c990b0a', '6512bd43d9caa6e02c990b0b'];
    const digest = deploymentDigest({ clusterId: one });
    assert.match(digest, /^[0-9a-f]{32}$/);
    assert.equal(deploymentDigest({ clusterId: one }), digest);
    assert.notEqual(deploymentDigest({ clusterId: other }), digest);
  });
});
