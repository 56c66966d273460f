import assert from 'node:assert/strict';
import { checkedRow } from '../../mongo/checked-value.ts';
import { checkVersion, missingActions } from './preflight.ts';

describe('checkVersion', () => {
  for (const version of ['6.0.0', '6.0.26', '7.0.1', '8.2.0-rc0', '10.0.0']) {
    it(`takes ${version}`, () => {
      checkVersion('cluster0', { version, host: 'a:27017' });
    });
  }
  for (const version of ['5.0.31', '4.4.29']) {
    it(`refuses ${version}, by name`, () => {
      assert.throws(
        () => {
          checkVersion('cluster0', { version, host: 'a:27017' });
        },
        {
          name: 'ServerVersionNotSupported',
          message: `cluster0 (a:27017) runs ${version}; 6.0 is required`,
        },
      );
    });
  }
});

describe('missingActions', () => {
  const needed = { cluster: ['listDatabases'], collections: ['find', 'insert'] };
  const user = [{ user: 'u', db: 'admin' }];
  const cases: [string, object, string[]][] = [
    ['no authentication', { authenticatedUsers: [], authenticatedUserPrivileges: [] }, []],
    [
      'nothing granted',
      { authenticatedUsers: user, authenticatedUserPrivileges: [] },
      ['listDatabases', 'find', 'insert'],
    ],
    [
      'all granted, in parts',
      {
        authenticatedUsers: user,
        authenticatedUserPrivileges: [
          { resource: { cluster: true }, actions: ['listDatabases'] },
          { resource: { db: '', collection: '' }, actions: ['find'] },
          { resource: { db: '', collection: '' }, actions: ['insert'] },
        ],
      },
      [],
    ],
    [
      'granted on one database only',
      {
        authenticatedUsers: user,
        authenticatedUserPrivileges: [
          { resource: { cluster: true }, actions: ['listDatabases'] },
          { resource: { db: 'a', collection: '' }, actions: ['find', 'insert'] },
        ],
      },
      ['find', 'insert'],
    ],
    [
      'everything on any resource',
      {
        authenticatedUsers: user,
        authenticatedUserPrivileges: [
          { resource: { anyResource: true }, actions: ['listDatabases', 'find', 'insert'] },
        ],
      },
      [],
    ],
  ];
  for (const [what, authInfo, missing] of cases) {
    it(what, () => {
      assert.deepEqual(missingActions(checkedRow(authInfo, 'authInfo'), needed), missing);
    });
  }
});
