import type { NamespaceInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { hasFeature } from '../../mongo/server-features.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { selectionText } from '../../mongo/filter-selection.ts';
import { countOf } from '../../service/quantities.ts';
import { SyncError } from '../../service/errors.ts';
import { canKeepDocuments } from '../ddl/present-collections.ts';
import { firstOf, namesOf, textsOf, type CheckSubject } from './check-subject.ts';
import { note, type Finding } from './finding.ts';

/** Entries of the filter that match nothing on either side: one may be there for what the destination has. */
export async function checkFilterEntries({
  source,
  destination,
}: CheckSubject): Promise<Finding[]> {
  const { entries } = await source.listing();
  const there = (await destination.listing()).entries;
  return entries.flatMap((entry, index) =>
    entry.namespaces > 0 || (there[index]?.namespaces ?? 0) > 0
      ? []
      : [note('FilterMatchesNothing', selectionText(entry))],
  );
}

/** Views whose collection is not copied. */
export async function checkViews({ source }: CheckSubject): Promise<Finding[]> {
  const { all, selected } = await source.listing();
  const known = new Set(textsOf(all));
  const synced = new Set(textsOf(selected));
  return selected.flatMap((info) => {
    if (info.kind !== 'view') return [];
    const { db, coll: view } = info.namespace;
    const on = namespaceText({ db, coll: String(info.options['viewOn']) });
    // One on a collection that does not exist is as empty on the source.
    if (!known.has(on) || synced.has(on)) return [];
    const name = namespaceText({ db, coll: view });
    const message = `${name} is a view on ${on}, which is not synced`;
    return [note('ViewWithoutCollection', message, { side: 'source', namespaces: [name] })];
  });
}

/** Databases that the destination has under a name that differs only in case. */
export async function checkDatabaseNames(subject: CheckSubject): Promise<Finding[]> {
  const { selected } = await subject.source.listing();
  const { databases } = await subject.destination.listing();
  const names = [...new Set(selected.map(({ namespace }) => namespace.db))];
  return names.flatMap((name) => {
    const other = databases.find((db) => db !== name && db.toLowerCase() === name.toLowerCase());
    if (other === undefined) return [];
    const message = `the destination has a database ${other}, and ${name} is to be synced`;
    return [note('DatabaseDiffersInCase', message, { side: 'destination' })];
  });
}

/** Indexes that would stop the sync. */
export async function checkIndexes(subject: CheckSubject): Promise<Finding[]> {
  const version = await subject.destination.version();
  const findings: Finding[] = [];
  for (const { info, indexes } of await subject.indexes()) {
    const where = { side: 'source', namespaces: [namespaceText(info.namespace)] } as const;
    if (indexes instanceof SyncError) {
      findings.push(note('IndexNameNotSupported', indexes.message, where));
      continue;
    }
    for (const spec of indexes) {
      const reason = whyRefused(spec, version);
      if (reason === undefined) continue;
      const message = `the index ${spec.name} of ${namespaceText(info.namespace)} ${reason}`;
      findings.push(note('IndexRefusedByDestination', message, where));
    }
  }
  return findings;
}

/** Why a server refuses an index that an older one has; undefined if no reason is known. */
export function whyRefused(spec: IndexSpec, version: string): string | undefined {
  const expiry = numberIn(spec['expireAfterSeconds']);
  if (Number.isNaN(expiry) && hasFeature(version, 'nanExpiryRefused'))
    return `has the expireAfterSeconds NaN, which MongoDB ${version} refuses`;
  const isHaystack = Object.values(spec.key.decode() as object).includes('geoHaystack');
  if (isHaystack) return `has the type geoHaystack, which no server since 5.0 creates`;
  return undefined;
}

/** A number of any BSON type; undefined if there is none. */
function numberIn(value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : Number(value);
}

/** Stored JavaScript functions, which are not copied. */
export async function checkStoredJavaScript(subject: CheckSubject): Promise<Finding[]> {
  const { cluster, listing } = subject.source;
  const { selected } = await listing();
  const { signal } = subject;
  const found: { readonly namespace: { readonly db: string; readonly coll: string } }[] = [];
  let count = 0;
  for (const db of new Set(selected.map(({ namespace }) => namespace.db))) {
    const database = cluster.decoded.db(db);
    const list = { listCollections: 1, nameOnly: true, filter: { name: 'system.js' } };
    const listed = await runCommand(database, list, { signal });
    if (listed.field('cursor').field('firstBatch').list().length === 0) continue;
    const stored = (await runCommand(database, { count: 'system.js' }, { signal })).field('n');
    if (stored.count() === 0) continue;
    count += stored.count();
    found.push({ namespace: { db, coll: 'system.js' } });
  }
  if (count === 0) return [];
  const message = `${countOf(count, 'stored function')} will not be copied: ${namesOf(found)}`;
  return [
    note('StoredJavaScriptNotCopied', message, { side: 'source', namespaces: textsOf(found) }),
  ];
}

/** Data outside the synced namespaces that write blocking applies to as well. */
export async function checkOtherData(subject: CheckSubject): Promise<Finding[]> {
  if (!subject.options.enableUserWriteBlocking) return [];
  const findings: Finding[] = [];
  for (const { side, listing } of subject.sides) {
    const { all, selected } = await listing();
    const synced = new Set(textsOf(selected));
    const others = textsOf(all).filter((name) => !synced.has(name));
    if (others.length === 0) continue;
    const when = side === 'destination' ? 'from the start to the commit' : 'from the commit on';
    const message = `users cannot write to ${firstOf(others)} of the ${side}, which is not synced, ${when}`;
    findings.push(note('OtherDataBlocked', message, { side, namespaces: others }));
  }
  return findings;
}

/** What a start with `initialData: Present` drops on the destination, and what it does not use. */
export async function checkPresentData(subject: CheckSubject): Promise<Finding[]> {
  if (subject.options.initialData !== 'Present') return [];
  const { selected } = await subject.destination.listing();
  const wanted = new Map(
    (await subject.source.listing()).selected.map((info) => [namespaceText(info.namespace), info]),
  );
  const gone: NamespaceInfo[] = [];
  const unlike: NamespaceInfo[] = [];
  for (const info of selected) {
    const source = wanted.get(namespaceText(info.namespace));
    if (!source) gone.push(info);
    else if (info.kind !== 'collection' || source.kind !== 'collection') continue;
    else if (!canKeepDocuments(info.options, source.options)) unlike.push(info);
  }
  return [
    ...present('PresentDataDropped', gone, 'is not on the source: the start drops it'),
    ...present('PresentDataNotUsed', unlike, 'is capped, or has different options from the source'),
  ];
}

function present(
  name: 'PresentDataDropped' | 'PresentDataNotUsed',
  infos: readonly NamespaceInfo[],
  what: string,
): Finding[] {
  if (infos.length === 0) return [];
  const namespaces = textsOf(infos).sort();
  const message = `${firstOf(namespaces)} of the destination ${what}`;
  return [note(name, message, { side: 'destination', namespaces })];
}
