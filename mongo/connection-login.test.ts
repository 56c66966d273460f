import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConnectionString } from './connection-options.ts';
import { connectionLoginOptions, withLogin } from './connection-login.ts';

const none = { srcUser: undefined, srcPassword: undefined };
const login = { srcUser: 'clustersync', srcPassword: 'p@ss/w:rd%' };
const given = (uri: string) => ({ option: 'srcURI', uri });

describe('withLogin', () => {
  it('puts user and password into a connection string', () => {
    for (const [uri, expected] of [
      ['mongodb://a:1,b:2/?tls=true', 'mongodb://clustersync:p%40ss%2Fw%3Ard%25@a:1,b:2/?tls=true'],
      ['mongodb+srv://a.test/', 'mongodb+srv://clustersync:p%40ss%2Fw%3Ard%25@a.test/'],
      ['mongodb://a', 'mongodb://clustersync:p%40ss%2Fw%3Ard%25@a'],
    ] as const)
      assert.equal(withLogin('src', login, given(uri)), expected);
  });

  it('has them read as they were given, whatever they are', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(text, text, (srcUser, srcPassword) => {
        const uri = withLogin(
          'src',
          { srcUser, srcPassword },
          given('mongodb://a:1,b:2/?tls=true'),
        );
        const parsed = parseConnectionString(uri);
        assert.deepEqual(
          [parsed?.username, parsed?.password, parsed?.hosts].map((each) =>
            typeof each === 'string' ? decodeURIComponent(each) : each,
          ),
          [srcUser, srcPassword, ['a:1', 'b:2']],
        );
      }),
    );
  });

  it('leaves alone what needs none, and what is no connection string', () => {
    const uri = 'mongodb://user:pw@a/';
    assert.equal(withLogin('src', none, given(uri)), uri);
    assert.equal(withLogin('src', login, given('nothing')), 'nothing');
  });

  it('refuses one without the other, and a second user, and shows no secret', () => {
    for (const [options, uri, message] of [
      [{ ...login, srcUser: undefined }, 'mongodb://a/', '--srcPassword requires --srcUser'],
      [{ ...login, srcUser: '' }, 'mongodb://a/', '--srcUser is empty'],
      [{ ...login, srcPassword: undefined }, 'mongodb://a/', '--srcUser requires --srcPassword'],
      [
        login,
        'mongodb://other:secret@a/',
        '--srcURI: the connection string names a user, and --srcUser is given: omit one of them',
      ],
    ] as const)
      assert.throws(() => withLogin('src', options, given(uri)), {
        name: 'InvalidOption',
        message,
      });
  });

  it('takes both from files, too', () => {
    assert.deepEqual(Object.keys(connectionLoginOptions('src', 'the source')), Object.keys(login));
    for (const { secret } of Object.values(connectionLoginOptions('src', 'the source')))
      assert.ok(secret);
  });
});
