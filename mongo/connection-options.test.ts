import assert from 'node:assert/strict';
import fc from 'fast-check';
import { messageOf, SyncError } from '../service/errors.ts';
import {
  checkConnectionString,
  parseConnectionString,
  connectionOptionGroups,
} from './connection-options.ts';

const password = 'hunter2secret';

function refusalOf(options: string, refusesFiles = false): string | undefined {
  const uri = `mongodb://user:${password}@host.example:27017/?${options}`;
  try {
    checkConnectionString(uri, { option: '--cluster0', refusesFiles });
    return undefined;
  } catch (error) {
    assert.ok(error instanceof SyncError && error.name === 'InvalidOption');
    return error.message;
  }
}

describe('checkConnectionString', () => {
  it('refuses the path of a socket in pods, where it would be one of the pod', () => {
    for (const host of [
      '%2Ftmp%2Fx.sock',
      '%2ftmp%2fx.sock',
      'x.sock',
      'a.example,x.sock',
      '%2Fx',
    ]) {
      const check = (refusesFiles: boolean): void => {
        checkConnectionString(`mongodb://${host}/`, { option: '--cluster0', refusesFiles });
      };
      assert.throws(() => {
        check(true);
      }, /^InvalidOption: --cluster0: a host is the path of a socket, which is refused in pods/);
      check(false);
    }
  });

  for (const { names, items, values = items ?? ['5'], ofMachine } of connectionOptionGroups) {
    it(`takes ${names.join(', ')}${ofMachine === undefined ? '' : ', but not in pods'}`, () => {
      for (const name of names)
        for (const value of values) {
          assert.equal(refusalOf(`tls=true&${name}=${value}`), undefined);
          assert.equal(refusalOf(`${name.toUpperCase()}=${value}`), undefined);
          const inPods = refusalOf(`${name}=${value}`, true);
          if (ofMachine !== undefined)
            assert.match(String(inPods), new RegExp(`^--cluster0: ${name} is refused in pods: `));
          else assert.equal(inPods, undefined);
        }
    });
  }

  const everywhere: readonly (readonly [string, RegExp])[] = [
    ['mongodbLogPath=/etc/passwd', /mongodbLogPath is not taken/],
    ['readPreference=secondary', /readPreference must be primary/],
    ['readConcernLevel=local', /readConcernLevel must be majority/],
    ['w=1', /w must be majority/],
    ['j=false', /j must be true/],
    ['authMechanism=nothing', /authMechanism must be/],
    ['nothing=1', /nothing is not taken/],
    ['compressors=snappy', /compressors must name zstd or zlib or none/],
    ['tls=true&tls=true&what', /what is not taken/],
  ];
  for (const [options, why] of everywhere) {
    it(`refuses ${options}`, () => {
      for (const refusesFiles of [false, true])
        assert.match(String(refusalOf(options, refusesFiles)), why);
    });
  }

  const inPods: readonly (readonly [string, RegExp])[] = [
    // It would send the token of a ServiceAccount to any host.
    ['authMechanism=MONGODB-OIDC', /authMechanism must be/],
    ['authMechanismProperties=ENVIRONMENT:k8s', /authMechanismProperties is refused in pods: /],
    ['AUTHMECHANISMPROPERTIES=ENVIRONMENT:azure', /is refused in pods: /],
    ['authMechanism=MONGODB-AWS', /authMechanism must be/],
    ['authMechanism=GSSAPI', /authMechanism must be/],
    ['proxyHost=10.0.0.1', /proxyHost is refused in pods: /],
    ['tls=true&proxyPassword=x', /proxyPassword is refused in pods: /],
  ];
  for (const [options, why] of inPods) {
    it(`refuses ${options} in pods, and takes it on a person's own machine`, () => {
      assert.match(String(refusalOf(options, true)), why);
      assert.equal(refusalOf(options), undefined);
    });
  }

  const readers: readonly (readonly [option: string, inPods: string])[] = [
    [
      'tlsCAFile=/etc/ca.pem',
      'tlsCAFile is refused in pods: it names a file in the pod, not on your machine. Omit it, and name the certificates in Secrets: tls of spec.source and spec.destination',
    ],
    [
      'tlsCertificateKeyFile=/home/me/key.pem',
      'tlsCertificateKeyFile is refused in pods: it names a file in the pod, not on your machine. Omit it, and name the certificates in Secrets: tls of spec.source and spec.destination',
    ],
    [
      'authMechanismProperties=ENVIRONMENT:k8s',
      'authMechanismProperties is refused in pods: it requests a token from a service or program in the pod. Use a user with a password',
    ],
    [
      'proxyHost=10.0.0.1',
      'proxyHost is refused in pods: it connects the pod to another host. Let the pods reach the servers directly',
    ],
    [
      'authMechanism=GSSAPI',
      'authMechanism must be DEFAULT or SCRAM-SHA-1 or SCRAM-SHA-256 or MONGODB-X509 or PLAIN in pods',
    ],
  ];
  for (const [option, inPods] of readers) {
    it(`tells the author of a Secret why pods refuse ${option}, and refuses nobody at the own machine`, () => {
      assert.equal(refusalOf(option, true), `--cluster0: ${inPods}`);
      assert.equal(refusalOf(option), undefined);
    });
  }

  it('takes none that is longer than any is, or names more hosts', () => {
    const hosts = (count: number): string =>
      `mongodb://${Array.from({ length: count }, (_, at) => `h${at}`).join()}/?tls=true`;
    const use = { option: '--cluster0', refusesFiles: true };
    checkConnectionString(hosts(100), use);
    const options = 'tls=true&'.repeat(1_000);
    for (const uri of [hosts(101), `mongodb://host/?${options}`, `mongodb://${'h'.repeat(9_000)}/`])
      assert.throws(
        () => {
          checkConnectionString(uri, use);
        },
        { message: /^--cluster0 cannot be read/ },
      );
  });

  it('tells nothing of a password that nobody has escaped', () => {
    for (const uri of [
      `mongodb://user:${password}@${password}@host/`,
      `mongodb://user:x@${password}?${password}=${password}@host/`,
      `mongodb://user:x@host/?${password}=1@host`,
      `mongodb://user:x@${password}/${password}@host/`,
      `mongodb://user:x@${password}?tls=a@host`,
      `mongodb://user:x@${password}/?tls=true&appName=a@host/`,
      `mongodb://user:x@${password}#x/y@host/`,
      `mongodb+srv://user:x@${password}.example.com/x@host.example.com/`,
      `mongodb://user:${password}/`,
      password,
    ])
      assert.throws(
        () => {
          checkConnectionString(uri, { option: '--cluster0', refusesFiles: true });
        },
        (error) => !messageOf(error).includes(password),
        uri,
      );
  });

  it('reads none where what looks like an option may belong to a password, and one that is escaped', () => {
    for (const uri of [
      'mongodb://u:x@ss?tls=a@host',
      'mongodb://u:x@ss/?tls=a@host/?tls=true',
      'mongodb://u:x@ss/?tls=true&appName=a@host',
    ])
      assert.equal(parseConnectionString(uri), undefined, uri);
    const escaped = parseConnectionString('mongodb://u:x%40ss%3Ftls=a@host/?appName=a%40b');
    assert.deepEqual(escaped?.hosts, ['host']);
    assert.equal(escaped.searchParams.get('appName'), 'a@b');
  });

  it('reads none whose password would not be redacted in a text', () => {
    for (const uri of [
      'mongodb://u:my secret@host/',
      'mongodb://u:my"secret@host/',
      'mongodb://u:my\u00a0secret@host/',
      'mongodb://m y:secret@host/',
      'mongodb://host/?tls=true&tlsCertificateKeyFilePassword=my secret',
      'mongodb://u:p@host/?proxyPassword=my"secret',
    ])
      assert.equal(parseConnectionString(uri), undefined, uri);
    for (const uri of ['mongodb://u:my%20secret@host/', 'mongodb://u:p@host/?appName=my app'])
      assert.deepEqual(parseConnectionString(uri)?.hosts, ['host'], uri);
  });

  it('finds no host in a password, wherever that has which characters', () => {
    const piece = fc.stringMatching(/^[g-z]{6}$/).map((text) => `secret${text}`);
    const separator = fc.constantFrom(
      '@',
      '/',
      ':',
      '#',
      '?',
      ',',
      '&',
      '=',
      ';',
      '%',
      '[',
      ']',
      ' ',
    );
    const password = fc
      .array(fc.tuple(piece, separator), { minLength: 1, maxLength: 5 })
      .map((pieces) => pieces.flat().join(''));
    const scheme = fc.constantFrom('mongodb', 'mongodb+srv');
    const end = fc.constantFrom('@host.example.com/?tls=true', '@host.example.com', '');
    fc.assert(
      fc.property(scheme, password, end, (protocol, text, rest) => {
        // Without an end, the text after an @ is the host that is connected to.
        fc.pre(rest !== '' || !text.includes('@'));
        const uri = `${protocol}://user:${text}${rest}`;
        const hosts = parseConnectionString(uri)?.hosts ?? [];
        assert.doesNotMatch(hosts.join(), /secret/);
        try {
          checkConnectionString(uri, { option: '--cluster0', refusesFiles: true });
        } catch (error) {
          assert.doesNotMatch(messageOf(error), /secret/);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
