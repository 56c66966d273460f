import { startOptions, type DefaultedOptions, type StartOption } from '../start-options.ts';

/** What the schema fills in, written out: a start that leaves it out has been the same start since it was there. */
export const defaultOptions = {
  buildIndexes: 'beforeDataCopy',
  enableUserWriteBlocking: false,
  reversible: false,
  detectDuplicateIds: false,
} as const satisfies DefaultedOptions;

const entry = { database: 'a', collection: 'b', shardCollection: { key: [{ x: 1 }] } };
const entries = 'sharding.shardingEntries';
const key = `${entries}[].shardCollection.key`;

function sharding(change: object): object {
  return { sharding: { shardingEntries: [{ ...entry, ...change }] } };
}

function ofKey(...parts: readonly object[]): object {
  return sharding({ shardCollection: { key: parts } });
}

/** A value of an option, for each property of a filter. */
function filters(name: 'includeNamespaces' | 'excludeNamespaces'): Record<string, Pair> {
  const one = (change: object): object => ({ [name]: [{ database: 'a', ...change }] });
  const regex = (field: string, change: object): object => ({
    [name]: [
      {
        ...(field === 'collectionsRegex' && { database: 'a' }),
        [field]: { pattern: 'x', ...change },
      },
    ],
  });
  const path = `${name}[]`;
  return {
    [name]: [{}, one({})],
    [path]: [one({}), { [name]: [{ database: 'a' }, { database: 'b' }] }],
    [`${path}.database`]: [one({}), one({ database: 'b' })],
    [`${path}.databaseRegex`]: [one({}), regex('databaseRegex', {})],
    [`${path}.databaseRegex.pattern`]: [
      regex('databaseRegex', {}),
      regex('databaseRegex', { pattern: 'y' }),
    ],
    [`${path}.databaseRegex.options`]: [
      regex('databaseRegex', {}),
      regex('databaseRegex', { options: 'i' }),
    ],
    [`${path}.collections`]: [one({}), one({ collections: ['b'] })],
    [`${path}.collections[]`]: [one({ collections: ['b'] }), one({ collections: ['c'] })],
    [`${path}.collectionsRegex`]: [one({}), regex('collectionsRegex', {})],
    [`${path}.collectionsRegex.pattern`]: [
      regex('collectionsRegex', {}),
      regex('collectionsRegex', { pattern: 'y' }),
    ],
    [`${path}.collectionsRegex.options`]: [
      regex('collectionsRegex', {}),
      regex('collectionsRegex', { options: 'i' }),
    ],
  };
}

type Pair = readonly [one: object, other: object];

/** For each property of the options, by its path in the schema: two starts that differ in nothing else. */
export const otherStarts: Readonly<Record<StartOption, Pair> & Record<string, Pair>> = {
  buildIndexes: [{}, { buildIndexes: 'afterDataCopy' }],
  enableUserWriteBlocking: [{}, { enableUserWriteBlocking: true }],
  ...(filters('includeNamespaces') as Record<'includeNamespaces', Pair>),
  ...(filters('excludeNamespaces') as Record<'excludeNamespaces', Pair>),
  reversible: [
    { enableUserWriteBlocking: true },
    { enableUserWriteBlocking: true, reversible: true },
  ],
  initialData: [{}, { initialData: 'Present' }],
  detectDuplicateIds: [{}, { detectDuplicateIds: true }],
  sharding: [{}, { sharding: { shardingEntries: [] } }],
  'sharding.createSupportingIndexes': [
    { sharding: { shardingEntries: [] } },
    { sharding: { shardingEntries: [], createSupportingIndexes: true } },
  ],
  [entries]: [{ sharding: { shardingEntries: [] } }, sharding({})],
  [`${entries}[]`]: [
    sharding({}),
    { sharding: { shardingEntries: [entry, { ...entry, database: 'c' }] } },
  ],
  [`${entries}[].database`]: [sharding({}), sharding({ database: 'c' })],
  [`${entries}[].collection`]: [sharding({}), sharding({ collection: 'c' })],
  [`${entries}[].shardCollection`]: [sharding({}), ofKey({ y: 1 })],
  [key]: [ofKey({ x: 1 }), ofKey({ x: 1 }, { y: 1 })],
  [`${key}[]`]: [ofKey({ x: 1 }), ofKey({ y: 1 })],
  [`${key}[].*`]: [ofKey({ x: 1 }), ofKey({ x: 'hashed' })],
};

/** The same, for each option as a whole. */
export const otherOptions: readonly (readonly [StartOption, ...Pair])[] = startOptions.map(
  (name) => [name, ...otherStarts[name]],
);
