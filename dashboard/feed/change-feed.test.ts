import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ChangeFeed, ChangedParts } from './change-feed.ts';

interface Item {
  readonly key: string;
  readonly value: number;
}

function feedOf(...items: readonly Item[]): ChangeFeed<Item> {
  const feed = new ChangeFeed<Item>(({ key }) => key);
  feed.replace(items);
  return feed;
}

const a = { key: 'a', value: 1 };
const b = { key: 'b', value: 1 };

describe('ChangeFeed', () => {
  it('tells a new reader everything', () => {
    assert.deepEqual(feedOf(a, b).news(undefined), { kind: 'all', revision: 1, items: [a, b] });
  });

  it('tells a reader nothing while nothing changes', () => {
    const feed = feedOf(a);
    assert.equal(feed.replace([{ ...a }]), false);
    assert.equal(feed.news(1), undefined);
  });

  it('tells only what has changed, come and gone', () => {
    const feed = feedOf(a, b);
    const c = { key: 'c', value: 1 };
    const changed = { key: 'b', value: 2 };
    assert.equal(feed.replace([changed, c]), true);
    assert.deepEqual(feed.news(1), {
      kind: 'changes',
      revision: 2,
      changed: [changed, c],
      removed: ['a'],
    });
  });

  it('does not tell that something has gone which is back', () => {
    const feed = feedOf(a);
    feed.replace([]);
    feed.replace([a]);
    assert.deepEqual(feed.news(1), { kind: 'changes', revision: 3, changed: [a], removed: [] });
  });

  it('tells a reader everything that has missed more removals than are remembered', () => {
    const many = Array.from({ length: 1_001 }, (_, index) => ({ key: `${index}`, value: 1 }));
    const feed = feedOf(...many);
    feed.replace([a]);
    assert.deepEqual(feed.news(1), { kind: 'all', revision: 2, items: [a] });
    assert.equal(feed.news(2), undefined);
  });

  it('leaves a reader with what there is, whenever it asks', () => {
    const items = fc.uniqueArray(
      fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), value: fc.nat(2) }),
      { selector: ({ key }) => key },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(items, fc.boolean())), (steps) => {
        const feed = feedOf();
        const known = new Map<string, Item>();
        let revision: number | undefined;
        const read = (): void => {
          const news = feed.news(revision);
          if (!news) return;
          ({ revision } = news);
          if (news.kind === 'all') known.clear();
          for (const item of news.kind === 'all' ? news.items : news.changed) {
            known.set(item.key, item);
          }
          for (const key of news.kind === 'all' ? [] : news.removed) known.delete(key);
        };
        for (const [next, isRead] of steps) {
          feed.replace(next);
          if (isRead) read();
        }
        read();
        assert.deepEqual([...known.values()].sort(byKey), [...feed.items].sort(byKey));
      }),
    );
  });
});

function byKey(one: Item, other: Item): number {
  return one.key.localeCompare(other.key);
}

describe('ChangedParts', () => {
  it('gives everything at first, then what is another, then nothing', () => {
    const parts = new ChangedParts<{ a: number; b: readonly number[] | null }>();
    assert.deepEqual(parts.take({ a: 1, b: [1] }), { a: 1, b: [1] });
    assert.deepEqual(parts.take({ a: 1, b: [1, 2] }), { b: [1, 2] });
    assert.equal(parts.take({ a: 1, b: [1, 2] }), undefined);
    assert.deepEqual(parts.take({ a: 1, b: null }), { b: null });
  });
});
