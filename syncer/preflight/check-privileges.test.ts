import assert from 'node:assert/strict';
import { checkedRow } from '../../mongo/checked-value.ts';
import { parseStartBody } from '../options/command-bodies.ts';
import { missingActions, neededActions } from './check-privileges.ts';

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
    [
      'any action on any resource',
      {
        authenticatedUsers: user,
        authenticatedUserPrivileges: [{ resource: { anyResource: true }, actions: ['anyAction'] }],
      },
      [],
    ],
    [
      'any action, on the cluster only',
      {
        authenticatedUsers: user,
        authenticatedUserPrivileges: [{ resource: { cluster: true }, actions: ['anyAction'] }],
      },
      ['find', 'insert'],
    ],
  ];
  for (const [what, authInfo, missing] of cases) {
    it(what, () => {
      assert.deepEqual(missingActions(checkedRow(authInfo, 'authInfo'), needed), missing);
    });
  }
});

describe('neededActions', () => {
  it('has those of a sharded destination, which shows its indexes by shard', () => {
    const options = parseStartBody({ source: 'cluster0', destination: 'cluster1' });
    const of = (kind: 'replicaSet' | 'sharded'): ReadonlySet<string> =>
      new Set(neededActions('destination', options, kind).collections);
    assert.deepEqual(
      [...of('sharded')].filter((action) => !of('replicaSet').has(action)),
      ['enableSharding', 'splitChunk', 'moveChunk', 'indexStats'],
    );
  });
});
