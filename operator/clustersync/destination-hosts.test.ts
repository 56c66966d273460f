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
    // The path of a socket is not the name of a Service.
    ['mongodb://%2Fdb.shop.svc%2Fx.sock', ['%2fdb.shop.svc%2fx.sock:27017']],
    // As the driver reads them.
    ['mongodb://DB%2Eexample.com', ['db.example.com:27017']],
    ['mongodb://bücher.example.com', ['xn--bcher-kva.example.com:27017']],
    ['mongodb://167772161', ['10.0.0.1:27017']],
    ['mongodb://0x0a.1:27018', ['10.0.0.1:27018']],
    ['mongodb://10.0.0.1.', ['10.0.0.1:27017']],
    ['mongodb://[FD00:0:0::0001]', ['[fd00::1]:27017']],
    ['mongodb://[::ffff:10.0.0.1]', ['10.0.0.1:27017']],
    ['mongodb://user:pass@db.example.com/?appName=me%40example.com', ['db.example.com:27017']],
    // A password that was not escaped: what follows its @ is not a host.
    ['mongodb://user:pass@db.example.com/?appName=me@example.com', undefined],
    ['mongodb://user:pa@ss@host/', undefined],
    ['mongodb://user:pa/ss@host/', undefined],
    ['mongodb://user:pa?ss@host/', undefined],
    ['mongodb://user:pa@ss/word@host/', undefined],
    ['mongodb://user:pa@ss/wo@rd?x@host/', undefined],
    ['mongodb://user:pa@ss/wo?rd@host/', undefined],
    ['mongodb://user:pa@ss?word@host/', undefined],
    ['mongodb://user:pa@ss?word=1@host/', undefined],
    ['mongodb://user:pa@ss?tls=a@host', undefined],
    ['mongodb://user:pa@ss/?tls=true&appName=a@host/', undefined],
    ['mongodb://user:pa@ss#word/x@host/', undefined],
    ['mongodb://user:pa@ss/x#word@host/', undefined],
    // Nor is what follows the colon a port if the host is missing.
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
      const found = destinationHosts(uri, 'shop');
      assert.deepEqual(
        found?.map(({ host }) => host),
        expected,
      );
    });
  }

  const forms: readonly (readonly [string, readonly object[]])[] = [
    ['mongodb://mongo', [{ host: 'mongo.shop:27017', form: 'full' }]],
    ['mongodb://MONGO.shop', [{ host: 'mongo.shop:27017', form: 'ambiguous' }]],
    ['mongodb://mongo.shop.:1', [{ host: 'mongo.shop:1', form: 'ambiguous' }]],
    ['mongodb://mongo.shop.svc', [{ host: 'mongo.shop:27017', form: 'full' }]],
    ['mongodb://mongo.shop.svc.cluster.local.', [{ host: 'mongo.shop:27017', form: 'full' }]],
    ['mongodb://mongo.shop,mongo', [{ host: 'mongo.shop:27017', form: 'full' }]],
    ['mongodb://mongo,mongo.shop', [{ host: 'mongo.shop:27017', form: 'full' }]],
    // A pod `mongo` of a Service `svc`, or the Service `mongo` of a namespace `svc`.
    ['mongodb://mongo.svc', [{ host: 'mongo.svc:27017', form: 'ambiguous' }]],
    ['mongodb://mongo.svc.svc', [{ host: 'mongo.svc:27017', form: 'full' }]],
    ['mongodb://mongo-0.mongo.shop', [{ host: 'mongo-0.mongo.shop:27017', form: 'other' }]],
    ['mongodb://10.1', [{ host: '10.0.0.1:27017', form: 'other' }]],
    ['mongodb://[::1]', [{ host: '[::1]:27017', form: 'other' }]],
    ['mongodb://localhost', [{ host: 'localhost:27017', form: 'other' }]],
  ];
  for (const [uri, expected] of forms) {
    it(`says what may have another meaning elsewhere, of ${uri}`, () => {
      assert.deepEqual(destinationHosts(uri, 'shop'), expected);
    });
  }

  it('is another one for each name that the servers are told', () => {
    const uri = 'mongodb://proxy.example.com,mongo/';
    const hostsOf = (serverName?: string) => destinationHosts(uri, 'shop', serverName);
    assert.deepEqual(hostsOf('DB.example.com'), [
      { host: 'mongo.shop:27017 as db.example.com', form: 'full' },
      { host: 'proxy.example.com:27017 as db.example.com', form: 'other' },
    ]);
    assert.deepEqual(hostsOf('db.example.com'), hostsOf('DB.example.com'));
    assert.deepEqual(
      hostsOf()?.map(({ host }) => host),
      ['mongo.shop:27017', 'proxy.example.com:27017'],
    );
  });

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
        const uri = `mongodb://user:${encodeURIComponent(password)}@${shuffled.join()}/?appName=/%40,`;
        assert.ok(expected);
        assert.deepEqual(destinationHosts(uri, 'b'), expected);
        assert.ok(!JSON.stringify(expected).includes(password));
      }),
    );
  });
});
