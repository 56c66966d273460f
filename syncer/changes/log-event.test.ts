import assert from 'node:assert/strict';
import { BSON, Timestamp, UUID } from 'mongodb';
import { createLogger, type LogLevel } from '../../service/logger.ts';
import { parseChangeEvent } from '../source/change-event.ts';
import { logEvent } from './log-event.ts';

const common = {
  _id: { _data: '82' },
  ns: { db: 'shop', coll: 'orders' },
  clusterTime: new Timestamp({ t: 1_700_000_000, i: 7 }),
  collectionUUID: new UUID(),
};

function logged(event: object, level: LogLevel = 'debug'): unknown[] {
  const lines: string[] = [];
  const logger = createLogger('test', level, (line) => lines.push(line));
  const raw = BSON.serialize(event);
  logEvent(logger, raw, parseChangeEvent(raw));
  return lines.map((line) => {
    const { kind, namespace, to, time, idHash } = JSON.parse(line) as Record<string, unknown>;
    return { kind, namespace, to, time, idHash };
  });
}

const insertOf = (_id: string): object => ({
  ...common,
  operationType: 'insert',
  documentKey: { _id },
  fullDocument: { _id, secret: 'swordfish' },
});

describe('logEvent', () => {
  it('says what happened where and when, and never shows an _id', () => {
    const [line] = logged(insertOf('alice@example.org'));
    const { idHash, ...rest } = line as { idHash: string };
    assert.deepEqual(rest, {
      kind: 'insert',
      namespace: 'shop.orders',
      to: undefined,
      time: '1700000000:7',
    });
    assert.match(idHash, /^[0-9a-f]{12}$/);
    assert.deepEqual(logged(insertOf('alice@example.org')), [line]);
    assert.notDeepEqual(logged(insertOf('bob@example.org')), [line]);
  });

  it('names both ends of a rename, and a database alone', () => {
    const to = { db: 'old', coll: 'orders' };
    const rename = { ...common, operationType: 'rename', to, operationDescription: { to } };
    const drop = { ...common, operationType: 'dropDatabase', ns: { db: 'shop' } };
    const time = '1700000000:7';
    assert.deepEqual(logged(rename), [
      { kind: 'rename', namespace: 'shop.orders', to: 'old.orders', time, idHash: undefined },
    ]);
    assert.deepEqual(logged(drop), [
      { kind: 'dropDatabase', namespace: 'shop', to: undefined, time, idHash: undefined },
    ]);
  });
});
