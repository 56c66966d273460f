import assert from 'node:assert/strict';
import { BSON, Int32, Long, Timestamp, type Document } from 'mongodb';
import type { SideName } from '../../mongo/sides.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import {
  compareIds,
  compareOrder,
  compareRange,
  compareUnordered,
  type CompareContext,
} from './compare-documents.ts';
import { compareHashes } from './compare-hashes.ts';
import { idKey } from './id-key.ts';

const namespace = { db: 'shop', coll: 'items' };
const range = { min: { _id: 0 }, max: null };

/** A side that has one document, unlike that of the other side, and the commands that it was sent. */
function played(name: SideName, readAfter: Timestamp) {
  const hash = Long.fromNumber(name.length);
  const documentsFor = ({ pipeline }: { pipeline?: readonly Document[] }): Document[] => {
    const isOfBuckets = pipeline?.some((stage) => '$group' in stage) ?? false;
    if (isOfBuckets) return [{ _id: new Int32(1), n: 1, s: 30, h: hash }];
    return [{ _id: 1, ...(pipeline ? { h: hash } : { name }) }];
  };
  const { cluster, sent } = playedCursors((command) => ({ documents: documentsFor(command) }));
  return { side: { cluster, isSharded: false, readAfter }, sent };
}

describe('a side', () => {
  const comparisons: Readonly<Record<string, (context: CompareContext) => Promise<unknown>>> = {
    range: async (context) => await compareRange(context, namespace, range),
    ids: async (context) =>
      await compareIds(context, namespace, [idKey(BSON.serialize({ _id: 1 }))]),
    order: async (context) => await compareOrder(context, namespace),
    unordered: async (context) => await compareUnordered(context, namespace),
    hashes: async (context) => await compareHashes(context, namespace, range),
  };
  for (const [what, compare] of Object.entries(comparisons)) {
    it(`is read after its own time by each command of a comparison: ${what}`, async () => {
      const times = { source: 7, destination: 8 };
      const at = (name: SideName): Timestamp => new Timestamp({ t: times[name], i: 1 });
      const source = played('source', at('source'));
      const destination = played('destination', at('destination'));
      await compare({
        ...{ source: source.side, destination: destination.side, readPreference: 'primary' },
        ...{ rateLimit: new TokenBucket(0), signal: new AbortController().signal },
        ...{ monitor: { addCompared: () => undefined }, reportValues: false },
      });
      for (const { sent, side } of [source, destination]) {
        const concerns = sent.map(({ command }) => command['readConcern'] as unknown);
        const expected = { level: 'majority', afterClusterTime: side.readAfter };
        assert.ok(concerns.length > 0);
        assert.deepEqual(
          concerns,
          concerns.map(() => expected),
        );
      }
    });
  }
});
