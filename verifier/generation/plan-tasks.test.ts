import assert from 'node:assert/strict';
import { BSON, UUID, type Document } from 'mongodb';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { idKey } from '../compare/id-key.ts';
import { PendingChecks } from '../pending-checks.ts';
import type { NamespacePair } from './namespace-pairs.ts';
import { databasesOf, planTasks, type GenerationKind } from './plan-tasks.ts';

function info(coll: string, options: Document = {}): NamespaceInfo {
  return { kind: 'collection', namespace: { db: 'shop', coll }, uuid: new UUID(), options };
}

function pair(coll: string, { capped = false, isAlone = false } = {}): NamespacePair {
  const there = info(coll, capped ? { capped } : {});
  return { namespace: there.namespace, source: there, destination: isAlone ? undefined : there };
}

function plan(
  kind: GenerationKind,
  pairs: readonly NamespacePair[],
  fill: (pending: PendingChecks) => void = () => undefined,
): string[] {
  const pending = new PendingChecks();
  fill(pending);
  const named = new Map(pairs.map((each) => [namespaceText(each.namespace), each]));
  return [...planTasks(kind, pending.take(), named)].map(
    (task) => `${task.kind} ${task.pair.namespace.coll}`,
  );
}

const a = { db: 'shop', coll: 'a' };

describe('planTasks', () => {
  it('compares everything in the first pass; no documents of what is on one side', () => {
    assert.deepEqual(plan('first', [pair('a'), pair('b', { isAlone: true })]), [
      'metadata a',
      'collection a',
      'metadata b',
    ]);
  });

  it('compares what is pending in later ones', () => {
    const pairs = [pair('a'), pair('b')];
    assert.deepEqual(plan('recheck', pairs), []);
    const id = (pending: PendingChecks): void => {
      pending.addId(a, idKey(BSON.serialize({ _id: 1 })));
    };
    assert.deepEqual(plan('recheck', pairs, id), ['ids a']);
    assert.deepEqual(
      plan('recheck', pairs, (pending) => {
        pending.addMetadata(a);
      }),
      ['metadata a'],
    );
    assert.deepEqual(
      plan('recheck', pairs, (pending) => {
        pending.addWhole(a);
      }),
      ['metadata a', 'collection a'],
    );
    assert.deepEqual(
      plan('recheck', pairs, (pending) => {
        pending.addDatabase('shop');
      }),
      ['metadata a', 'collection a', 'metadata b', 'collection b'],
    );
    assert.deepEqual(plan('recheck', [pair('a', { isAlone: true })], id), ['metadata a']);
  });

  it('compares all options and indexes, and the order of capped collections, in the last one', () => {
    assert.deepEqual(plan('last', [pair('a'), pair('b', { capped: true })]), [
      'metadata a',
      'metadata b',
      'collection b',
    ]);
  });

  it('looks up at most 1000 ids at a time', () => {
    const many = (pending: PendingChecks): void => {
      for (let _id = 0; _id < 2500; _id++) pending.addId(a, idKey(BSON.serialize({ _id })));
    };
    assert.equal(plan('recheck', [pair('a')], many).length, 3);
  });
});

describe('databasesOf', () => {
  it('is all in the first and the last pass, and those that wait in others', () => {
    const pending = new PendingChecks();
    pending.addMetadata(a);
    pending.addDatabase('old');
    const taken = pending.take();
    assert.equal(databasesOf('first', taken), 'all');
    assert.equal(databasesOf('last', taken), 'all');
    assert.deepEqual(databasesOf('recheck', taken), new Set(['old', 'shop']));
  });
});
