import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { checkedCredentials, type SecretValue } from './credentials.ts';
import { keptValues, type KeptValues } from './kept-value.ts';
import {
  missingSecret,
  mountedSide,
  secretProblem,
  secretRefs,
  secretsHashAnnotation,
  secretsHashOf,
  secretVolumes,
  unusableForPods,
} from './operand-secrets.ts';

const days = (count: number): number => count * 24 * 60 * 60 * 1000;
const source = { kind: 'found', value: 'b2xk' } as const;
const destination = { kind: 'found', value: 'bmV3' } as const;
const missing = { kind: 'missing', description: 'there is no Secret new-uri' } as const;
/** As it is read. */
const whole = { kind: 'whole', base64: source.value } as const;
const invalid = { kind: 'invalid', description: 'ca.crt is not a PEM certificate' } as const;

function setWith(hash: string): StatefulSet {
  const template = { metadata: { annotations: { [secretsHashAnnotation]: hash } } };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'orders-syncer' },
    spec: { template, selector: {}, serviceName: 'orders-syncer' },
  };
}

describe('secretsHashOf', () => {
  const connections = { source, destination, credentials: [] };

  it('is what the pods of a former operator have, so that they stay when it is upgraded', () => {
    assert.equal(secretsHashOf({ ...connections, token: 'token' }, undefined), 'e7dcf494000abfc1');
  });

  it('is another one for each other value', () => {
    const other = { kind: 'found', value: 'b3RoZXI=' } as const;
    const hashes = [
      connections,
      { ...connections, source: other },
      { ...connections, destination: other },
      { ...connections, credentials: [other] },
      { ...connections, credentials: [source] },
      { ...connections, credentials: [other, source] },
    ].map((secrets) => secretsHashOf({ ...secrets, token: 'token' }, undefined));
    assert.equal(new Set(hashes).size, hashes.length);
  });

  it('stays what the StatefulSet has while a Secret is not there, or nobody says which', () => {
    const set = setWith('former');
    for (const secrets of [
      { ...connections, destination: missing },
      { ...connections, destination: undefined },
      { ...connections, credentials: [source, missing] },
      { ...connections, credentials: [invalid] },
    ]) {
      assert.equal(secretsHashOf({ ...secrets, token: 'token' }, set), 'former');
      assert.equal(secretsHashOf({ ...secrets, token: 'token' }, undefined), undefined);
    }
  });
});

describe('missingSecret', () => {
  it('names the first that is not there, and none that nobody has asked for', () => {
    const credentials = [] as const;
    assert.equal(
      missingSecret({ source: undefined, destination: undefined, credentials }),
      undefined,
    );
    assert.equal(missingSecret({ source, destination, credentials: [source] }), undefined);
    const other = { ...missing, description: 'there is no Secret old-uri' };
    for (const [secrets, message] of [
      [{ source, destination: missing, credentials }, missing.description],
      [{ source: undefined, destination: missing, credentials }, missing.description],
      [{ source: other, destination: missing, credentials }, other.description],
      [{ source, destination, credentials: [source, other] }, other.description],
    ] as const) {
      const cause = { reason: 'SecretNotFound', message, level: 'warning' };
      assert.deepEqual(missingSecret(secrets), cause);
    }
  });

  it('says that a certificate is invalid', () => {
    assert.deepEqual(missingSecret({ source, destination, credentials: [invalid] }), {
      reason: 'InvalidCertificate',
      message: invalid.description,
      level: 'stalled',
    });
  });
});

describe('secretProblem', () => {
  const atMs = Date.parse('2026-12-01T00:00:00Z');
  const until = (what: string, ms: number, noticeMs = days(7)) => ({
    ...source,
    expiry: { what, atMs: ms, noticeMs },
  });
  const soon = until('tls.crt in the Secret client', atMs);
  const later = until('ca.crt in the Secret ca', atMs + days(30));
  const short = until('tls.crt in the Secret short', atMs - days(6), days(0.25));

  for (const [running, outlook] of [
    ['all', 'running pods continue, and are not changed until this is corrected'],
    [
      'some',
      'running pods continue, others cannot start, and none is changed until this is corrected',
    ],
    ['none', 'pods cannot start until this is corrected'],
  ] as const) {
    it(`says of missing and invalid ones what that means when ${running} of the pods run`, () => {
      for (const secret of [missing, invalid]) {
        const problem = secretProblem(
          { source, destination, credentials: [secret] },
          atMs,
          running,
        );
        assert.equal(problem?.message, `${secret.description}: ${outlook}`);
      }
    });
  }

  it('says of one that only the operator cannot read that pods continue, whether or not they run', () => {
    const unread = { kind: 'unread', description: 'the operator may not read it' } as const;
    const secrets = { source, destination, credentials: [unread] };
    const problem = secretProblem(secrets, atMs, 'none');
    assert.equal(problem?.reason, 'SecretNotFound');
    assert.match(problem.message, /^the operator may not read it: running pods continue/);
    assert.equal(unusableForPods(secrets), undefined);
    const both = { ...secrets, credentials: [unread, missing] };
    assert.equal(unusableForPods(both)?.message, missing.description);
  });

  it('is what is missing, and a certificate that ends within a week', () => {
    for (const [credentials, nowMs, reason, message] of [
      [
        [missing, soon],
        atMs,
        'SecretNotFound',
        'there is no Secret new-uri: running pods continue, and are not changed until this is corrected',
      ],
      [
        [later, source, short, soon],
        atMs - days(7),
        'CertificateExpiresSoon',
        'tls.crt in the Secret client expires at 2026-12-01T00:00:00.000Z: renew it before',
      ],
      [
        [soon, later],
        atMs,
        'CertificateExpired',
        'tls.crt in the Secret client expired at 2026-12-01T00:00:00.000Z: new connections may fail. Renew it',
      ],
    ] as const) {
      const problem = secretProblem({ source, destination, credentials }, nowMs, 'all');
      assert.deepEqual([problem?.reason, problem?.message], [reason, message]);
    }
  });

  it('is none before', () => {
    const credentials = [later, source, soon];
    assert.equal(
      secretProblem({ source, destination, credentials }, atMs - days(7) - 1, 'all'),
      undefined,
    );
    assert.equal(secretProblem({ source, destination, credentials: [] }, atMs, 'none'), undefined);
  });
});

describe('the credentials of the sides', () => {
  const side = (name: string, tls?: object) => ({
    name,
    uriSecretRef: { name, key: 'uri' },
    ...tls,
  });
  const kind = 'Secret' as const;
  const caSecretRef = { name: 'ca', key: 'bundle.pem' };
  const caConfigMapRef = { name: 'trusted', key: 'ca.crt' };
  const clientCertificateSecretRef = { name: 'client' };
  const auth = {
    userSecretRef: { name: 'login', key: 'username' },
    passwordSecretRef: { name: 'login', key: 'password' },
  };

  it('are read from the Secrets that the sides name', () => {
    const none = secretRefs({ source: side('old'), destination: side('new') }, {});
    assert.deepEqual(none.credentials, []);
    const { credentials } = secretRefs(
      {
        source: side('old', { auth, tls: { caSecretRef, clientCertificateSecretRef } }),
        destination: side('new', { tls: { caConfigMapRef } }),
      },
      {},
    );
    assert.deepEqual(
      credentials.map((at) => `${at.kind} ${at.name} ${at.key} ${at.part}`),
      [
        'Secret login username user',
        'Secret login password password',
        'Secret ca bundle.pem authority',
        'Secret client tls.crt certificate',
        'Secret client tls.key key',
        'ConfigMap trusted ca.crt authority',
      ],
    );
  });

  it('are invalid if they are none, and what is missing stays so', () => {
    const refs = [
      { kind, ...caSecretRef, part: 'authority' },
      { kind, name: 'client', key: 'tls.crt', part: 'certificate' },
      { kind, name: 'client', key: 'tls.key', part: 'key' },
    ] as const;
    assert.deepEqual(checkedCredentials(refs, [missing, missing, whole]), [
      missing,
      missing,
      source,
    ]);
    const [ca, certificate, key] = checkedCredentials(refs, [whole, whole, whole]);
    assert.deepEqual(ca, {
      kind: 'invalid',
      description: 'bundle.pem in the Secret ca is not, or not only, PEM certificates',
    });
    assert.equal(certificate?.kind, 'invalid');
    assert.match(
      certificate.description,
      /^tls\.crt and tls\.key in the Secret client cannot be used: .+/,
    );
    assert.deepEqual(key, source);
    const inMap = [{ kind: 'ConfigMap', ...caConfigMapRef, part: 'authority' }] as const;
    assert.deepEqual(checkedCredentials(inMap, [whole]), [
      {
        kind: 'invalid',
        description: 'ca.crt in the ConfigMap trusted is not, or not only, PEM certificates',
      },
    ]);
  });

  it('are taken as they are, if they are no certificates', () => {
    const refs = [
      { kind, ...auth.userSecretRef, part: 'user' },
      { kind, ...auth.passwordSecretRef, part: 'password' },
    ] as const;
    assert.deepEqual(checkedCredentials(refs, [whole, missing]), [source, missing]);
  });

  describe('that are certificates', () => {
    const texts = rootCertificates.slice(0, 40).map((text) => {
      const { validFrom, validTo } = new X509Certificate(text);
      return { text, fromMs: Date.parse(validFrom), atMs: Date.parse(validTo) };
    });
    const [first, last] = [-1, 1].map(
      (order) => texts.toSorted((one, other) => order * (other.atMs - one.atMs))[0],
    );
    const read = (...parts: readonly string[]) => {
      return { kind: 'whole', base64: Buffer.from(parts.join('\n')).toString('base64') } as const;
    };
    const found = ({ base64: value }: ReturnType<typeof read>) =>
      ({ kind: 'found', value }) as const;

    it('end, of several authorities, with the last', () => {
      assert.ok(first && last && first.atMs < last.atMs);
      const { atMs } = last;
      const values = [read(first.text, last.text), read(last.text, first.text)];
      const inSecret = { kind, ...caSecretRef, part: 'authority' } as const;
      const inMap = { kind: 'ConfigMap', ...caConfigMapRef, part: 'authority' } as const;
      for (const [ref, what] of [
        [inSecret, 'bundle.pem in the Secret ca'],
        [inMap, 'ca.crt in the ConfigMap trusted'],
      ] as const) {
        const expiry = { what, atMs, noticeMs: days(7) };
        for (const value of values)
          assert.deepEqual(checkedCredentials([ref], [value]), [{ ...found(value), expiry }]);
      }
    });

    it('are, of too many authorities to be kept, known by their hash and the last end', () => {
      const key = 'ca.crt';
      const data = (texts: readonly string[]) => ({ [key]: read(...texts).base64 });
      const ref = { kind: 'ConfigMap', name: 'trusted', key, part: 'authority' } as const;
      const valueOf = (kept: KeptValues): SecretValue | undefined => {
        const [value] = checkedCredentials([ref], [kept.get(key) ?? missing]);
        return value;
      };
      const all = texts.map(({ text }) => text);
      const kept = keptValues(data(all), undefined);
      const value = valueOf(kept);
      assert.ok(last && value?.kind === 'found');
      const what = 'ca.crt in the ConfigMap trusted';
      assert.deepEqual(value.expiry, { what, atMs: last.atMs, noticeMs: days(7) });
      assert.ok(value.value.length < 100);
      const other = valueOf(keptValues(data(all.toReversed()), kept));
      assert.ok(other?.kind === 'found' && other.value !== value.value);
      assert.equal(keptValues(data(all), kept).get(key), kept.get(key), 'not read again');
      assert.deepEqual(valueOf(keptValues({ [key]: 'A'.repeat(40_000) }, kept)), {
        kind: 'invalid',
        description: 'ca.crt in the ConfigMap trusted is not, or not only, PEM certificates',
      });
      const user = { ...ref, kind: 'Secret', part: 'user' } as const;
      assert.deepEqual(checkedCredentials([user], [kept.get(key) ?? missing]), [
        {
          kind: 'unread',
          description:
            'the key ca.crt of the Secret trusted is longer than 24 KiB, or others of its values are',
        },
      ]);
    });

    it('end, of one with its intermediate authorities, with the first in the text', () => {
      assert.ok(first && last);
      const refs = [{ kind, name: 'client', key: 'tls.crt', part: 'certificate' }] as const;
      for (const [own, authority] of [
        [first, last],
        [last, first],
      ] as const) {
        const value = read(own.text, authority.text);
        const { atMs } = own;
        const what = 'tls.crt in the Secret client';
        assert.deepEqual(checkedCredentials(refs, [value]), [
          { ...found(value), expiry: { what, atMs, noticeMs: days(7) } },
        ]);
      }
    });
  });

  it('are mounted, each option naming its file', () => {
    const flags = [
      { uri: 'destURI', prefix: 'dest' },
      { uri: 'metaURI', prefix: 'meta' },
    ];
    const plain = mountedSide('destination', side('new'), flags);
    assert.deepEqual(plain.args, [
      '--destURIFile=/etc/clustersync/destination/uri',
      '--metaURIFile=/etc/clustersync/destination/uri',
    ]);
    assert.deepEqual(plain.secrets, [
      { folder: 'destination', kind, name: 'new', items: [{ key: 'uri', path: 'uri' }] },
    ]);
    const tls = { auth, tls: { caSecretRef, clientCertificateSecretRef } };
    const { secrets, args } = mountedSide('source', side('old', tls), [
      { uri: 'srcURI', prefix: 'src' },
    ]);
    assert.deepEqual(args, [
      '--srcURIFile=/etc/clustersync/source/uri',
      '--srcUserFile=/etc/clustersync/source-user/user',
      '--srcPasswordFile=/etc/clustersync/source-password/password',
      '--srcCaFile=/etc/clustersync/source-ca/ca.crt',
      '--srcCertificateFile=/etc/clustersync/source-certificate/tls.crt',
      '--srcKeyFile=/etc/clustersync/source-certificate/tls.key',
    ]);
    assert.deepEqual(
      secrets.map(({ folder, kind: its, name, items }) => [
        ...[folder, its, name],
        items.map(({ key, path }) => `${key}>${path}`).join(),
      ]),
      [
        ['source', kind, 'old', 'uri>uri'],
        ['source-user', kind, 'login', 'username>user'],
        ['source-password', kind, 'login', 'password>password'],
        ['source-ca', kind, 'ca', 'bundle.pem>ca.crt'],
        ['source-certificate', kind, 'client', 'tls.crt>tls.crt,tls.key>tls.key'],
      ],
    );
  });

  it('may be in a ConfigMap, and for servers of another name', () => {
    const tls = { caConfigMapRef, serverName: 'db.example' };
    const { secrets, args } = mountedSide('destination', side('new', { tls }), [
      { uri: 'destURI', prefix: 'dest' },
      { uri: 'metaURI', prefix: 'meta' },
    ]);
    assert.deepEqual(args.slice(2), [
      '--destCaFile=/etc/clustersync/destination-ca/ca.crt',
      '--metaCaFile=/etc/clustersync/destination-ca/ca.crt',
      '--destServerName=db.example',
      '--metaServerName=db.example',
    ]);
    const items = [{ key: 'ca.crt', path: 'ca.crt' }];
    assert.deepEqual(secretVolumes(secrets).volumes.at(-1), {
      name: 'destination-ca',
      configMap: { name: 'trusted', items },
    });
  });
});
