import type { NamePattern, NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import { messageOf, shortened } from '../../service/errors.ts';

/** Limits of a filter, the same as the syncer's: any other filter cannot mean what the sync has moved, and would find it equal unseen. */
const maxEntries = 256;
const maxCollections = 1_024;
const maxDatabaseName = 63;
const maxCollectionName = 255;
const maxPattern = 1_024;
const databaseName = /^[^/\\. "$\0]+$/;
const patternOptions = /^[imsx]{0,4}$/;

/** The options of a start that say what is compared, and how each is checked. */
const readers = { includeNamespaces: entries, excludeNamespaces: entries };

export type SelectionOption = keyof typeof readers;

export const selectionOptions = Object.keys(readers) as readonly SelectionOption[];

/** What is compared: as the options of a start say, null where one is left out. */
export type Selection = {
  readonly [Name in SelectionOption]: ReturnType<(typeof readers)[Name]>;
};

/**
 * Checks what is selected.
 * @param given - the value of an option, from outside.
 * @throws Error that begins with the name of the option.
 */
export function selectionOf(given: (option: SelectionOption) => unknown): Selection {
  const checked = selectionOptions.map((option) => {
    try {
      return [option, readers[option](given(option))] as const;
    } catch (error) {
      throw new Error(`${option}: ${messageOf(error)}`, { cause: error });
    }
  });
  return Object.fromEntries(checked) as Selection;
}

function entries(value: unknown): readonly NamespaceFilterEntry[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) throw new Error('expected an array of entries');
  if (value.length > maxEntries) throw new Error(`there are more than ${maxEntries} entries`);
  return value.map(filterEntry);
}

function filterEntry(value: unknown): NamespaceFilterEntry {
  if (!isObject(value)) throw new Error('an entry is an object');
  const { database, databaseRegex, collections, collectionsRegex, ...others } = withoutNulls(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`an entry has no field ${JSON.stringify(other)}`);
  if (database !== undefined) requireDatabaseName(database);
  if ((database === undefined) === (databaseRegex === undefined)) {
    throw new Error('an entry has either database or databaseRegex');
  }
  if (collections !== undefined && collectionsRegex !== undefined) {
    throw new Error('an entry has collections or collectionsRegex, not both');
  }
  return {
    ...(database === undefined ? {} : { database }),
    ...(databaseRegex === undefined ? {} : { databaseRegex: namePattern(databaseRegex) }),
    ...(collections === undefined ? {} : { collections: names(collections) }),
    ...(collectionsRegex === undefined ? {} : { collectionsRegex: namePattern(collectionsRegex) }),
  };
}

function names(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error('collections is an array of names');
  if (value.length === 0 || value.length > maxCollections)
    throw new Error(`collections is an array of 1 to ${maxCollections} names`);
  return value.map((name) => {
    if (typeof name !== 'string') throw notText('a name of collections');
    if (name === '' || name.length > maxCollectionName || name.includes('\0'))
      throw new Error(`${shown(name)} cannot be the name of a collection`);
    return name;
  });
}

function requireDatabaseName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw notText('database');
  if (name.length > maxDatabaseName || !databaseName.test(name))
    throw new Error(`${shown(name)} cannot be the name of a database`);
}

function shown(name: string): string {
  return JSON.stringify(shortened(name, maxDatabaseName));
}

function namePattern(value: unknown): NamePattern {
  if (!isObject(value)) throw new Error('a regex is an object with pattern and options');
  const { pattern, options, ...others } = withoutNulls(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`a regex has no field ${JSON.stringify(other)}`);
  if (typeof pattern !== 'string') throw notText('pattern');
  if (pattern === '' || pattern.length > maxPattern || pattern.includes('\0'))
    throw new Error(`pattern has 1 to ${maxPattern} characters, none of them NUL`);
  if (options !== undefined && typeof options !== 'string') throw notText('options');
  if (options !== undefined && !patternOptions.test(options))
    throw new Error('options are any of i, m, s, x');
  return options === undefined ? { pattern } : { pattern, options };
}

/** The driver stores undefined as null. */
function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notText(what: string): Error {
  return new Error(`${what} is a text`);
}
