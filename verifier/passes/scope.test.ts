import assert from 'node:assert/strict';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { playedAdmin } from '../../mongo/testing/played-deployment.ts';
import { requireSomethingSelected } from './scope.ts';

const { signal } = new AbortController();

/** A side that has one view in each of these databases. */
function sideWith(...databases: readonly string[]): ClusterClient {
  const view = { name: 'view', type: 'view', options: { viewOn: 'items', pipeline: [] } };
  const { cluster } = playedCursors(() => ({ documents: [view] }));
  const admin = playedAdmin(() => ({ ok: 1, databases: databases.map((name) => ({ name })) }));
  return { ...cluster, admin };
}

describe('what a check requires of a filter', () => {
  const sides = { source: sideWith('shop'), destination: sideWith('depot') };

  async function check(
    includeNamespaces: readonly NamespaceFilterEntry[],
    { isOfSync = false, excludeNamespaces = null as readonly NamespaceFilterEntry[] | null } = {},
  ): Promise<void> {
    const record = { includeNamespaces, excludeNamespaces, mayLackIndexes: false, sync: null };
    const given = isOfSync ? undefined : JSON.stringify(includeNamespaces);
    const options = { verifyAll: false, includeNamespaces: given, excludeNamespaces: undefined };
    await requireSomethingSelected(record, options, sides, signal);
  }

  it('is that either side has what each entry names, selected or not, whatever its patterns say', async () => {
    await check([{ database: 'shop' }, { database: 'depot', collections: ['view', 'other'] }]);
    const pattern = { pattern: '^none' };
    await check([{ database: 'shop' }, { database: 'depot', collectionsRegex: pattern }]);
    await check([{ database: 'shop' }, { databaseRegex: pattern }]);
    const excludeNamespaces = [{ database: 'depot' }, { database: 'nothing' }];
    await check([{ database: 'shop' }, { database: 'depot' }], { excludeNamespaces });
  });

  it('is not met by an entry that matches nothing, which is named', async () => {
    const entries = [{ database: 'shop' }, { database: 'Depot' }, { database: 'depot' }];
    await assert.rejects(check(entries), {
      name: 'NothingToCompare',
      message:
        'neither side has anything that matches includeNamespaces[1] {"database":"Depot"}: correct the entries of the filter, or remove them',
    });
    const long = { database: 'shop', collections: Array.from({ length: 1_000 }, () => 'none') };
    const many = [{ database: 'depot' }, ...Array.from({ length: 9 }, () => long)];
    await assert.rejects(check(many), ({ message }: Error) => {
      assert.match(message, /includeNamespaces\[1\] .*; and 4 more: correct/);
      assert.ok(message.length < 1_000);
      return true;
    });
  });

  it('is for the filter of a sync that something is selected', async () => {
    await check([{ database: 'shop' }, { database: 'later' }], { isOfSync: true });
    const nothing = { name: 'NothingToCompare', message: /^neither side has a collection or view/ };
    await assert.rejects(check([{ database: 'later' }], { isOfSync: true }), nothing);
    await assert.rejects(check([{ database: 'later' }]), nothing);
  });
});
