import type { Document, Timestamp } from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { namespaceIn, storedDocument, type StoredIn } from '../../mongo/stored-document.ts';
import { isErrorName } from '../../service/error-table.ts';
import { messageOf } from '../../service/errors.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Amount, ReadDocuments } from '../compare/sides.ts';
import type {
  ErrorRecord,
  PartKey,
  PassRecord,
  PassResult,
  Position,
  Proof,
  RangeTask,
  Recheck,
  ScopeRecord,
  Start,
  Tally,
  Task,
  TaskWork,
  VerificationRecord,
} from './records.ts';
import { selectionOf, selectionOptions, type Selection } from './selection.ts';

// Stored state is only used after it was checked: each reader throws SyncError StoredStateInvalid.

const verdicts = ['equal', 'different'] as const;

/** A verification of this version, as it is stored. */
export function verificationIn(from: StoredIn, found: Document): VerificationRecord {
  const record = storedDocument(from, found);
  return {
    formatVersion: record.field('formatVersion').count(),
    attempt: record.field('attempt').count(),
    run: record.field('run').text(),
    status: record.field('status').oneOf(['idle', 'running', 'complete']),
    writesOff: record.field('writesOff').boolean(),
    subject: record.orNull('subject')?.text() ?? null,
    scope: scopeIn(record.orNull('scope')),
    starts: ifThere(record.orNull('starts'), (starts) => sidesIn(starts, startIn)),
    positions: {
      source: positionIn(record.field('positions').orNull('source')),
      destination: positionIn(record.field('positions').orNull('destination')),
    },
    noted: record
      .field('noted')
      .list()
      .map((note) => ({
        generation: note.field('generation').count(),
        epoch: note.field('epoch').count(),
        count: note.field('count').count(),
      })),
    generation: passIn(record.orNull('generation')),
    // A process of an earlier release does not record it.
    lastPass: passResultIn(record.optional('lastPass') ?? null),
    totals: amountIn(record.field('totals')),
    verdict: record.orNull('verdict')?.oneOf(verdicts) ?? null,
    proof: proofIn(record.orNull('proof')),
    error: errorIn(record.orNull('error')),
    startedAt: record.orNull('startedAt')?.date() ?? null,
    completedAt: record.orNull('completedAt')?.date() ?? null,
  };
}

function ifThere<T>(value: CheckedValue | null, read: (value: CheckedValue) => T): T | null {
  return value === null ? null : read(value);
}

function sidesIn<T>(value: CheckedValue, read: (value: CheckedValue) => T): Sides<T> {
  return { source: read(value.field('source')), destination: read(value.field('destination')) };
}

function timesIn(value: CheckedValue): Sides<Timestamp> {
  return sidesIn(value, (time) => time.timestamp());
}

function countsIn(value: CheckedValue): Sides<number> {
  return sidesIn(value, (count) => count.count());
}

/** What was read of a range or a collection. */
export function readDocumentsIn(value: CheckedValue): ReadDocuments {
  return { ...countsIn(value), hashed: value.field('hashed').count() };
}

function amountIn(value: CheckedValue): Amount {
  return { documents: value.field('documents').count(), bytes: value.field('bytes').count() };
}

function scopeIn(value: CheckedValue | null): ScopeRecord | null {
  return ifThere(value, (scope) => ({
    ...selectionIn(scope),
    mayLackIndexes: scope.field('mayLackIndexes').boolean(),
    sync: scope.orNull('sync')?.text() ?? null,
  }));
}

function selectionIn(scope: CheckedValue): Selection {
  const given = new Map(selectionOptions.map((option) => [option, scope.orNull(option)]));
  try {
    return selectionOf((option) =>
      given
        .get(option)
        ?.list()
        .map((entry) => entry.document()),
    );
  } catch (error) {
    throw scope.error(`cannot be read: ${messageOf(error)}`);
  }
}

function startIn(value: CheckedValue): Start {
  return { isSharded: value.field('isSharded').boolean(), from: value.field('from').timestamp() };
}

function positionIn(value: CheckedValue | null): Position | null {
  return ifThere(value, (position) => ({
    token: position.field('token').binary(),
    time: position.field('time').timestamp(),
  }));
}

function passIn(value: CheckedValue | null): PassRecord | null {
  return ifThere(value, (pass) => ({
    number: pass.field('number').count(),
    epoch: pass.field('epoch').count(),
    kind: pass.field('kind').oneOf(['first', 'recheck', 'last']),
    isAgain: pass.field('isAgain').boolean(),
    plannedTasks: pass.field('plannedTasks').count(),
    readAfter: timesIn(pass.field('readAfter')),
    comparedUpTo: ifThere(pass.orNull('comparedUpTo'), timesIn),
    startedAt: pass.field('startedAt').date(),
    noted: pass.orNull('noted')?.count() ?? null,
  }));
}

function passResultIn(value: CheckedValue | null): PassResult | null {
  return ifThere(value, (result) => ({
    generation: result.field('generation').count(),
    mismatches: result.field('mismatches').count(),
    longestMs: result.field('longestMs').count(),
    isWhole: result.field('isWhole').boolean(),
    endedAt: result.field('endedAt').date(),
    shortSince: result.field('shortSince').date(),
  }));
}

function proofIn(value: CheckedValue | null): Proof | null {
  return ifThere(value, (proof) => ({
    collections: proof.field('collections').count(),
    ranges: proof.field('ranges').count(),
    documentsCompared: countsIn(proof.field('documentsCompared')),
    documentsHashed: proof.field('documentsHashed').count(),
    documentsCounted: countsIn(proof.field('documentsCounted')),
  }));
}

function errorIn(value: CheckedValue | null): ErrorRecord | null {
  return ifThere(value, (error) => {
    const name = error.field('name').text();
    if (!isErrorName(name)) throw error.field('name').error(`is ${JSON.stringify(name)}`);
    return {
      name,
      message: error.field('message').text(),
      isFinal: error.field('isFinal').boolean(),
    };
  });
}

/** The subject of a task. */
export function taskIn(from: StoredIn, found: Document): Task & { readonly claims: number } {
  const record = storedDocument(from, found);
  return {
    namespace: namespaceIn(record.field('namespace')),
    work: workIn(record.field('work')),
    expected: amountIn(record.field('expected')),
    claims: record.field('claims').count(),
  };
}

/** What kind of work a task is. */
export function workKindIn(from: StoredIn, found: Document): TaskWork['kind'] {
  return kindIn(storedDocument(from, found).field('work'));
}

function kindIn(work: CheckedValue): TaskWork['kind'] {
  return work.field('kind').oneOf(['metadata', 'collection', 'range', 'ids']);
}

function workIn(value: CheckedValue): TaskWork {
  const kind = kindIn(value);
  switch (kind) {
    case 'metadata':
    case 'collection':
      return { kind };
    case 'range':
      return {
        kind,
        min: value.orNull('min')?.binary() ?? null,
        max: value.orNull('max')?.binary() ?? null,
      };
    case 'ids':
      return {
        kind,
        ids: value
          .field('ids')
          .list()
          .map((id) => id.binary()),
        isChanged: value.field('isChanged').boolean(),
      };
  }
}

/** A task on a collection or a range of one. */
export function rangeTaskIn(from: StoredIn, found: Document): RangeTask {
  const record = storedDocument(from, found);
  const work = workIn(record.field('work'));
  if (work.kind !== 'collection' && work.kind !== 'range')
    throw record.field('work').error('holds something other than documents');
  const read = record.optional('read');
  return {
    key: record.field('_id').text(),
    namespace: namespaceIn(record.field('namespace')),
    work,
    state: record.field('state').oneOf(['added', 'processing', 'completed', 'failed']),
    claim: record.optional('claim')?.text() ?? null,
    read: read ? readDocumentsIn(read) : null,
    parts: record.optional('parts')?.count() ?? null,
    part: partIn(record.optional('part')),
  };
}

function partIn(value: CheckedValue | undefined): PartKey | null {
  if (value === undefined) return null;
  return {
    parent: value.field('parent').text(),
    claim: value.field('claim').text(),
    index: value.field('index').count(),
  };
}

/** What must be compared again. */
export function recheckIn(
  from: StoredIn,
  found: Document,
): Recheck & { readonly note: string; readonly place: number } {
  const record = storedDocument(from, found);
  const noted = { note: record.field('note').text(), place: record.field('place').count() };
  const kind = record.field('kind').oneOf(['ids', 'metadata', 'whole', 'database']);
  if (kind === 'database') return { ...noted, kind, db: record.field('db').text() };
  const namespace = namespaceIn(record.field('namespace'));
  if (kind !== 'ids') return { ...noted, kind, namespace };
  const ids = record
    .field('ids')
    .list()
    .map((id) => id.binary());
  return { ...noted, kind, namespace, ids };
}

/** The inserts and deletes. Zero is not stored. */
export function tallyIn(from: StoredIn, found: Document): Tally {
  const record = storedDocument(from, found);
  return {
    inserted: countsIn(record.field('inserted')),
    deleted: countsIn(record.field('deleted')),
  };
}
