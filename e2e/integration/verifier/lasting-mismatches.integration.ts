import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Collection, MongoClient } from 'mongodb';
import { openApiDocument } from '../../../docs/openapi/documents.ts';
import type { DocMismatch, MismatchSummary, NsMismatch } from '../../../sync-api/json.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type VerifierSession } from './verifier-session.ts';

interface Row {
  readonly _id: number | string;
  readonly name?: string;
}

/** More than the buffers of two sockets hold. */
const manyRows = 4_000;
const manyCollections = 4;
const longId = 'x'.repeat(900);

const docPath = '/api/v1/docMismatches';
const nsPath = '/api/v1/nsMismatches';

describe('the questions that migration-verifier answers since its later versions', () => {
  const pair = useReplicaSetPair();
  let uris: { readonly srcURI: string; readonly destURI: string };

  beforeEach(async () => {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    uris = { srcURI, destURI };
    await pair.source.dropDatabase();
    await pair.destination.dropDatabase();
  });

  const rows = (side: 'source' | 'destination', name = 'items'): Collection<Row> =>
    pair[side].collection<Row>(name);

  /** Two missing documents, one that differs, one extra; a missing and an extra collection; an index of each kind of difference. */
  async function plant(): Promise<void> {
    const same = Array.from({ length: 20 }, (_, n) => ({ _id: n, name: 'lamp' }));
    await rows('source').insertMany([...same, { _id: 20 }, { _id: 21 }, { _id: 22, name: 'a' }]);
    await rows('destination').insertMany([...same, { _id: 22, name: 'b' }, { _id: 23 }]);
    await rows('source', 'more').insertOne({ _id: 'only here' });
    await rows('destination', 'other').insertOne({ _id: 'only there' });
    for (const side of ['source', 'destination'] as const) {
      // Not unique is right on the destination until the commit, unique is not.
      const differs =
        side === 'source'
          ? { expireAfterSeconds: 3600 }
          : { expireAfterSeconds: 7200, unique: true };
      await rows(side).createIndexes([
        { key: { at: 1 }, name: 'at', sparse: true, ...differs },
        { key: { name: 1 }, name: `of ${side}` },
      ]);
    }
  }

  const documents = [
    { type: 'missingOnDst', namespace: 'shop.items', _id: 20 },
    { type: 'missingOnDst', namespace: 'shop.items', _id: 21 },
    { type: 'content', namespace: 'shop.items', _id: 22, field: 'name' },
    { type: 'extraOnDst', namespace: 'shop.items', _id: 23 },
  ];
  const namespaces = [
    { type: 'content', namespace: 'shop.items', aspect: 'index', component: 'at' },
    { type: 'content', namespace: 'shop.items', aspect: 'index', component: 'at' },
    { type: 'extraOnDst', namespace: 'shop.items', aspect: 'index', component: 'of destination' },
    { type: 'missingOnDst', namespace: 'shop.items', aspect: 'index', component: 'of source' },
    { type: 'missingOnDst', namespace: 'shop.more', aspect: 'exist' },
    { type: 'extraOnDst', namespace: 'shop.other', aspect: 'exist' },
  ];

  /** The fields of the index `at` that are listed, in the order of their names. */
  function fieldsAt(listed: readonly NsMismatch[]): string[] {
    return listed
      .filter(({ component }) => component === 'at')
      .map(({ detail = '' }) => detail.split(':')[0] ?? '')
      .sort();
  }

  async function assertPlanted(session: VerifierSession): Promise<void> {
    const docs = await linesOf<DocMismatch>(session, docPath, 'DocMismatch');
    const plain = docs.map(({ durationSecs: _, detail: __, ...rest }) => rest);
    assert.deepEqual(plain.sort(byText), documents);
    const listed = await linesOf<NsMismatch>(session, nsPath, 'NsMismatch');
    assert.deepEqual(listed.map(({ detail: _, ...rest }) => rest).sort(byText), namespaces);
    assert.deepEqual(fieldsAt(listed), ['expireAfterSeconds', 'unique']);
    for (const ignored of [['expireAfterSeconds'], ['unique'], ['unique', 'expireAfterSeconds']]) {
      const query = `?indexSpecIgnore=${ignored.join(',')}`;
      const left = await linesOf<NsMismatch>(session, `${nsPath}${query}`, 'NsMismatch');
      const expected = listed.filter(
        ({ detail = '' }) => !ignored.some((field) => detail.startsWith(field)),
      );
      assert.equal(expected.length, namespaces.length - ignored.length);
      assert.deepEqual(left.sort(byText), expected.sort(byText));
    }
    const summary = await summaryOf(session);
    assert.equal(summary.nsMismatches.length, namespaces.length);
    assert.deepEqual(summary.docMismatches, {
      total: 4,
      byType: { missingOnDst: 2, extraOnDst: 1, content: 1 },
      byNamespace: { 'shop.items': 4 },
    });
  }

  it('are answered before the check, during passes, and with the verdict', async () => {
    await plant();
    await using session = await openSession(uris);
    assert.deepEqual(await linesOf(session, docPath, 'DocMismatch'), []);
    assert.deepEqual(await linesOf(session, nsPath, 'NsMismatch'), []);
    assert.deepEqual(await summaryOf(session), {
      estCheckSecsRemaining: null,
      nsMismatches: [],
      docMismatches: { total: 0, byType: {}, byNamespace: {} },
    });
    const { srcLastRecheckedTS, dstLastRecheckedTS } = await session.progress();
    assert.deepEqual([srcLastRecheckedTS, dstLastRecheckedTS], [null, null]);
    await session.post('check');
    // Whatever pass is under way: the former one is told until it has ended.
    const places = new Set(namespaces.map(({ namespace }) => namespace)).size;
    let former = -1;
    await until('three passes have gone by', async () => {
      const { generation, verificationStatus } = await session.progress();
      // However many differences a namespace has, it is compared once.
      assert.ok(verificationStatus.recheckTasks <= documents.length + places, 'compared again');
      if (generation > 0 && generation > former) {
        await assertPlanted(session);
        former = generation;
      }
      return generation >= 3;
    });
    const { srcLastRecheckedTS: first } = await session.progress();
    assert.ok((first?.$timestamp.t ?? 0) > 0);
    await session.post('writesOff');
    const { verdict, srcLastRecheckedTS: last, mismatchCount } = await session.untilComplete();
    assert.equal(verdict, 'different');
    assert.equal(mismatchCount, documents.length + namespaces.length);
    assert.ok(Number(last?.$timestamp.t) >= Number(first?.$timestamp.t));
    await assertPlanted(session);
    assert.equal((await summaryOf(session)).estCheckSecsRemaining, null);
  });

  it('tell how long a document has differed; a change begins it again', async () => {
    await plant();
    await using session = await openSession(uris);
    await session.post('check');
    const durations = async (): Promise<ReadonlyMap<unknown, number>> => {
      const docs = await linesOf<DocMismatch>(session, docPath, 'DocMismatch');
      const seconds = docs.map(({ durationSecs }) => durationSecs);
      assert.deepEqual(
        seconds,
        seconds.toSorted((one, other) => other - one),
        'the longest first',
      );
      return new Map(docs.map(({ _id, durationSecs }) => [_id, durationSecs]));
    };
    await until('all have lasted', async () => {
      const lasting = [...(await durations()).values()];
      return lasting.length === 4 && lasting.every((seconds) => seconds >= 2);
    });
    await rows('source').updateOne({ _id: 22 }, { $set: { name: 'c' } });
    await until('the changed one has begun again', async () => {
      const now = await durations();
      const [changed = 0, ...others] = [22, 20, 21, 23].map((_id) => now.get(_id) ?? 0);
      return others.every((seconds) => seconds >= changed + 2);
    });
    await session.post('writesOff');
    await session.untilComplete();
    const final = await durations();
    assert.equal(final.size, 4);
    const longest = Math.floor(final.get(20) ?? 0);
    const filtered = await linesOf<DocMismatch>(
      session,
      `${docPath}?minDurationSecs=${longest}`,
      'DocMismatch',
    );
    assert.deepEqual(filtered.map(({ _id }) => _id).sort(), [20, 21, 23]);
    const { docMismatches, nsMismatches, notes } = await summaryOf(session, longest);
    assert.deepEqual(docMismatches, {
      total: 3,
      byType: { missingOnDst: 2, extraOnDst: 1 },
      byNamespace: { 'shop.items': 3 },
    });
    assert.equal(nsMismatches.length, namespaces.length);
    assert.deepEqual(notes, [
      `Filtering document mismatches by minimum duration (${longest} seconds)`,
    ]);
  });

  it('refuse what they do not know by name', async () => {
    await using session = await openSession(uris);
    for (const query of ['minDurationSecs=-1', 'minDurationSecs=4294967296', 'minDuration=1'])
      for (const path of [docPath, nsPath, '/api/v1/summary']) {
        const { status, body } = await session.get(`${path}?${query}`);
        assert.deepEqual([status, body['error']], [400, 'InvalidBody'], `${path}?${query}`);
      }
    for (const fields of ['sparse', 'unique,', 'unique,sparse', 'Unique']) {
      const { status, body } = await session.get(`${nsPath}?indexSpecIgnore=${fields}`);
      assert.deepEqual([status, body['error']], [400, 'InvalidBody'], fields);
    }
    const { body } = await session.get(`${docPath}?indexSpecIgnore=unique`);
    assert.match(String(body['errorDescription']), /there is no parameter "indexSpecIgnore"/);
  });

  it('are sent no faster than they are read, end with the client, and break when their pass is deleted', async () => {
    for (let number = 0; number < manyCollections; number++) {
      const ids = Array.from({ length: manyRows }, (_, n) => ({ _id: `${n} ${longId}` }));
      await rows('source', `c${number}`).insertMany(ids);
      await rows('destination', `c${number}`).insertOne({ _id: 'extra' });
    }
    const total = manyCollections * (manyRows + 1);
    await using session = await openSession(uris);
    await session.post('check');
    await until('the first pass has ended', async () => (await session.progress()).generation > 0);

    // A client that does not read: its pass is deleted before it has all of it.
    const { generation } = await session.progress();
    const slow = await session.open(docPath);
    await until('two passes have ended', async () => {
      return (await session.progress()).generation > generation + 1;
    });
    const broken = await readBroken(slow);
    assert.ok(broken.lines.length > 0 && broken.lines.length < total, `${broken.lines.length}`);
    assert.ok(broken.isBroken);

    await session.post('writesOff');
    await session.untilComplete();
    const all = await linesOf<DocMismatch>(session, docPath, 'DocMismatch');
    assert.equal(all.length, total);
    assert.equal(
      new Set(all.map(({ namespace, _id }) => `${namespace} ${JSON.stringify(_id)}`)).size,
      total,
    );
    assert.equal(all.filter(({ type }) => type === 'extraOnDst').length, manyCollections);

    const stopped = await session.open(docPath);
    const [, metadata] = pair.clients;
    assert.ok(metadata);
    await until('it has begun', async () => (await cursorsOf(metadata)).length === 1);
    let former = -1;
    await until('something was sent, and nothing moves any more', async () => {
      const [cursor] = await cursorsOf(metadata);
      const sent = cursor?.nDocsReturned ?? 0;
      const isStill = sent > 0 && sent === former;
      former = sent;
      return isStill;
    });
    assert.ok(former < total, `${former} of ${total}`);
    await stopped.body?.cancel();
    await until('its cursor is closed', async () => (await cursorsOf(metadata)).length === 0);
    assert.equal((await summaryOf(session)).docMismatches.total, total);
    assert.deepEqual(
      session.log.filter(
        (line) => line.includes('HTTP answer failed') && !line.includes('CheckFailed'),
      ),
      [],
    );
  });
});

async function summaryOf(session: VerifierSession, seconds?: number): Promise<MismatchSummary> {
  const query = seconds === undefined ? '' : `?minDurationSecs=${seconds}`;
  const { status, body } = await session.get(`/api/v1/summary${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as MismatchSummary;
}

/** The lines of an answer, each of which is as the OpenAPI document has it. */
async function linesOf<T>(session: VerifierSession, path: string, schema: string): Promise<T[]> {
  const response = await session.open(path);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
  const text = await response.text();
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  ajv.addSchema(await openApiDocument('verifier'), 'document');
  const validate = ajv.getSchema(`document#/components/schemas/${schema}`);
  assert.ok(validate);
  for (const line of lines) assert.ok(validate(line), JSON.stringify([line, validate.errors]));
  return lines;
}

/** What a client has of an answer that was broken off. */
async function readBroken(
  response: Response,
): Promise<{ readonly lines: readonly string[]; readonly isBroken: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    const body: AsyncIterable<Uint8Array> | null = response.body;
    for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true });
    return { lines: text.split('\n'), isBroken: false };
  } catch {
    return { lines: text.split('\n'), isBroken: true };
  }
}

/** The open cursors on the stored differences that wait to be read on. */
async function cursorsOf(
  client: MongoClient,
): Promise<readonly { readonly nDocsReturned: number }[]> {
  const operations = await client
    .db('admin')
    .aggregate<{ readonly cursor: { readonly nDocsReturned: number } }>([
      { $currentOp: { idleCursors: true, allUsers: true } },
      { $match: { type: 'idleCursor', ns: 'clustersync_verifier.mismatches' } },
    ])
    .toArray();
  return operations.map(({ cursor }) => cursor);
}

function byText(one: object, other: object): number {
  return textFor(one) < textFor(other) ? -1 : 1;
}

/** Documents by `_id`; namespaces by name, then by what differs. */
function textFor(row: { readonly _id?: unknown; readonly namespace?: string; component?: string }) {
  return `${String(row._id)} ${row.namespace} ${row.component ?? ''}`;
}
