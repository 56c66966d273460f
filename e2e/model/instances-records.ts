import { isDeepStrictEqual } from 'node:util';
import { Timestamp } from 'mongodb';
import type { InstanceRecord, SyncRecord } from '../../syncer/store/records.ts';
import type { Assembly, StreamPlace } from '../../syncer/store/instances.ts';
import { reversibleSync } from '../../syncer/testing/reversible-sync.ts';
import { timeOf, type Model, type Place, type StoredSync } from './instances-state.ts';

const first = reversibleSync();
const heartbeatAt = new Date();

/** The name of an instance. */
export function nameOf(instance: number): string {
  return `syncer-${instance}`;
}

/** A time of the model as a cluster time. */
export function timestampOf(time: number): Timestamp {
  return new Timestamp({ t: time, i: 1 });
}

/** A place in the change stream, as the instances know it. */
export function streamPlaceOf(place: Place): StreamPlace {
  return { text: String(place), time: timestampOf(timeOf(place)) };
}

/** The record of the sync as it is stored. */
export function recordOf({ commitTime, catalogEvent, ...sync }: StoredSync): SyncRecord {
  return {
    ...first,
    ...sync,
    instances: sync.received.map((_, instance) => nameOf(instance)),
    command: sync.commandCount === 1 ? 'start' : 'commit',
    formerState: sync.commandCount === 1 ? 'IDLE' : 'RUNNING',
    commitTime: commitTime === null ? null : timestampOf(commitTime),
    catalogEvent: catalogEvent === null ? null : String(catalogEvent),
  };
}

/** Everything that is stored, as an instance reads it. */
export function assemblyOf({ sync, instances }: Model): Assembly {
  const stored = instances.map(({ arrivedAt, appliedTime }, instance) => {
    const record: InstanceRecord = {
      incarnation: '',
      resumeToken: null,
      appliedTime: timestampOf(appliedTime),
      copiedBytes: 0,
      eventsApplied: 0,
      isCopied: true,
      arrivedAt: arrivedAt === 0 ? null : String(arrivedAt),
      claims: 1,
      heartbeatAt,
    };
    return [nameOf(instance), record] as const;
  });
  return { sync: recordOf(sync), instances: new Map(stored) };
}

/** Whether a record is as a write expects it. */
export function isAsExpected(sync: StoredSync, expected: Partial<SyncRecord>): boolean {
  const record = recordOf(sync);
  return Object.entries(expected).every(([name, value]) => {
    return isDeepStrictEqual(record[name as keyof SyncRecord], value);
  });
}
