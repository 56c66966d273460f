import assert from 'node:assert/strict';
import fc from 'fast-check';
import { destinationHosts } from './destination-hosts.ts';

describe('destinationHosts', () => {
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['mongodb://db.example.com', ['db.example.com:27017']],
    ['mongodb://user:pass@db.example.com:27018/admin?tls=true', ['db.example.com:27018']],
    ['mongodb://us%40er:p%2Fa@DB.example.com/', ['db.example.com:27017']],
    [
      'mongodb://b.example.com,a.example.com:1?replicaSet=rs',
      ['a.example.com:1', 'b.example.com:27017'],
    ],
    ['mongodb://a.example.com,a.example.com:27017', ['a.example.com:27017']],
    ['mongodb://a.example.com.', ['a.example.com:27017']],
    ['mongodb://10.0.0.1:027017', ['10.0.0.1:27017']],
    ['mongodb://[FD00::1]:27018,[fd00::2]', ['[fd00::1]:27018', '[fd00::2]:27017']],
    ['mongodb+srv://user:pass@Cluster.example.com/?w=majority', ['srv:cluster.example.com']],
    ['mongodb://mongo', ['mongo.shop:27017']],
    ['mongodb://mongo.shop', ['mongo.shop:27017']],
    ['mongodb://mongo.shop.svc', ['mongo.shop:27017']],
    ['mongodb://mongo-0.mongo.shop.svc.cluster.local', ['mongo-0.mongo.shop:27017']],
    ['mongodb://localhost', ['localhost:27017']],
    ['mongodb://user:pass@db.example.com/?appName=me@example.com', ['db.example.com:27017']],
    // A password that nobody has escaped: what follows its @ is no host.
    ['mongodb://user:pa@ss@host/', undefined],
    ['mongodb://user:pa/ss@host/', undefined],
    ['mongodb://user:pa?ss@host/', undefined],
    ['mongodb://user:pa@ss/word@host/', undefined],
    ['mongodb://user:pa@ss/wo@rd?x@host/', undefined],
    ['mongodb://user:pa@ss/wo?rd@host/', undefined],
    ['mongodb://user:pa@ss?word@host/', undefined],
    ['mongodb://user:pa@ss?word=1@host/', undefined],
    ['mongodb://user:pa@ss#word/x@host/', undefined],
    ['mongodb://user:pa@ss/x#word@host/', undefined],
    // Nor is what follows its colon a port, where the host is missing.
    ['mongodb://user:pass', undefined],
    ['mongodb://user:pa/ss', undefined],
    ['mongodb://user:password/shop', undefined],
    ['mongodb://', undefined],
    ['mongodb://user@', undefined],
    ['http://a', undefined],
    ['', undefined],
  ];
  for (const [uri, expected] of cases) {
    it(`of ${uri === '' ? 'nothing' : uri}`, () => {
      assert.deepEqual(destinationHosts(uri, 'shop'), expected);
    });
  }

  it('is the same for all ways to write the same hosts, and tells nothing of the password', () => {
    const host = fc.tuple(fc.domain(), fc.integer({ min: 1, max: 65_535 }));
    const secret = fc.string({ minLength: 8 }).map((text) => `#${text}#`);
    const hosts = fc.uniqueArray(host, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(hosts, secret, fc.func(fc.nat()), (given, password, random) => {
        const plain = given.map(([name, port]) => `${name}:${port}`);
        const shuffled = given
          .toSorted((one, other) => random(one) - random(other))
          .map(([name, port]) => `${name.toUpperCase()}${port === 27_017 ? '' : `:${port}`}`);
        const expected = destinationHosts(`mongodb://${plain.join()}`, 'a');
        const uri = `mongodb://user:${encodeURIComponent(password)}@${shuffled.join()}/?appName=/@,`;
        assert.ok(expected);
        assert.deepEqual(destinationHosts(uri, 'b'), expected);
        assert.ok(!JSON.stringify(expected).includes(password));
      }),
    );
  });
});
