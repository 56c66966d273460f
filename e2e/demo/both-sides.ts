import { MongoClient } from 'mongodb';
import { countText } from '../../service/quantities.ts';
import { readCatalog } from '../ground/catalog.ts';
import { countAndHash, type CollectionDigest } from '../ground/compare.ts';

/** One namespace as the demo found it on both sides, without using any code of the product. */
export interface SideBySide {
  readonly namespace: string;
  readonly source: CollectionDigest | undefined;
  readonly destination: CollectionDigest | undefined;
  /** The number and hash of the documents, the options and the indexes are the same. */
  readonly isEqual: boolean;
}

/** Counts and hashes all collections on both sides, and compares them, their indexes, and views. */
export async function compareSides(
  sourceUri: string,
  destinationUri: string,
): Promise<readonly SideBySide[]> {
  const [source, destination, sourceCatalog, destinationCatalog] = await Promise.all([
    countAndHash(sourceUri),
    countAndHash(destinationUri),
    catalogTexts(sourceUri),
    catalogTexts(destinationUri),
  ]);
  const namespaces = new Set([...sourceCatalog.keys(), ...destinationCatalog.keys()]);
  return [...namespaces].sort().map((namespace) => {
    const here = (one: CollectionDigest): boolean => one.namespace === namespace;
    const left = source.find(here);
    const right = destination.find(here);
    return {
      namespace,
      source: left,
      destination: right,
      isEqual:
        left?.sha256 === right?.sha256 &&
        left?.documents === right?.documents &&
        sourceCatalog.get(namespace) === destinationCatalog.get(namespace),
    };
  });
}

async function catalogTexts(uri: string): Promise<ReadonlyMap<string, string>> {
  await using client = new MongoClient(uri);
  const texts = new Map<string, string>();
  for (const [namespace, { type, options, indexes }] of await readCatalog(client, [])) {
    const sorted = [...indexes.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    texts.set(namespace, JSON.stringify([type, options, sorted]));
  }
  return texts;
}

/** The comparison as a human-readable table. */
export function tableOf(sides: readonly SideBySide[]): string {
  const number = (value: number | undefined): string =>
    value === undefined ? '-' : countText(value);
  const rows = sides.map(({ namespace, source, destination, isEqual }) => [
    source || destination ? namespace : `${namespace} (view)`,
    number(source?.documents),
    number(destination?.documents),
    number(source?.indexes),
    number(destination?.indexes),
    isEqual ? `yes ${source?.sha256.slice(0, 12) ?? ''}`.trimEnd() : 'NO',
  ]);
  const sum = (count: (side: SideBySide) => number | undefined): string =>
    countText(sides.reduce((total, side) => total + (count(side) ?? 0), 0));
  const total = [
    'all',
    sum(({ source }) => source?.documents),
    sum(({ destination }) => destination?.documents),
    sum(({ source }) => source?.indexes),
    sum(({ destination }) => destination?.indexes),
    sides.every(({ isEqual }) => isEqual) ? 'yes' : 'NO',
  ];
  const heads = [
    'namespace',
    'documents: old',
    'new',
    'indexes: old',
    'new',
    'equal (independent count, SHA-256)',
  ];
  const lines = [heads, ...rows, total];
  const widths = heads.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const isText = (column: number): boolean => column === 0 || column === heads.length - 1;
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return isText(column) ? cell.padEnd(width) : cell.padStart(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
