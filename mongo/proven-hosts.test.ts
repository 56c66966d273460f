import assert from 'node:assert/strict';
import { provenHosts } from './proven-hosts.ts';

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
