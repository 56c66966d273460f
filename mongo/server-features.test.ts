import assert from 'node:assert/strict';
import {
  endOfTransaction,
  fateOfEvent,
  fateOfOption,
  hasFeature,
  hasOption,
  isKnownIndexChange,
  type EventFate,
  type OptionFate,
} from './server-features.ts';

describe('hasFeature', () => {
  for (const [version, shows] of [
    ['6.0.0', false],
    ['6.0.27', false],
    ['6.1.0-rc2', true],
    ['7.0.28', true],
    ['8.0.4', true],
    ['8.2.0', true],
    ['10.0.0', true],
  ] as const)
    it(`change streams of ${version} ${shows ? 'show' : 'omit'} what applyOps writes`, () => {
      assert.equal(hasFeature(version, 'appliedOpsInChangeStreams'), shows);
    });
});

describe('hasFeature of a patch', () => {
  for (const [version, reports] of [
    ['6.0.0', false],
    ['6.0.13', false],
    ['6.0.14', true],
    ['6.0.27', true],
    ['6.1.0-rc2', true],
    ['8.0.4', true],
  ] as const)
    it(`change streams of ${version} ${reports ? 'report' : 'omit'} resharding`, () => {
      assert.equal(hasFeature(version, 'reshardingInChangeStreams'), reports);
    });
});

/** All events that servers up to 8.3 send, apart from document changes, and those that they send only on request. */
const events: Readonly<Record<EventFate, readonly string[]>> = {
  applied: [
    'create',
    'createIndexes',
    'drop',
    'dropDatabase',
    'dropIndexes',
    'modify',
    'rename',
    'shardCollection',
  ],
  passedOver: [endOfTransaction, 'refineCollectionShardKey'],
  refused: [
    ...['reshardBegin', 'reshardCollection', 'reshardDoneCatchUp'],
    // On request: what would be new is refused, too.
    ...['migrateLastChunkFromShard', 'migrateChunkToNewShard', 'reshardBlockingWrites'],
    ...['startIndexBuild', 'abortIndexBuild', 'namespacePlacementChanged'],
    ...['of a later server', 'toString', ''],
  ],
};

describe('fateOfEvent', () => {
  for (const [fate, operations] of Object.entries(events))
    for (const operation of operations)
      it(`${operation === '' ? 'none' : operation}: ${fate}`, () => {
        assert.equal(fateOfEvent(operation), fate);
      });
});

/** The options of the command `create` in the manual of 8.0, and those that older servers may have stored. */
const options: Readonly<Record<OptionFate, readonly string[]>> = {
  copied: [
    ...['capped', 'size', 'max', 'clusteredIndex', 'expireAfterSeconds', 'collation'],
    ...['validator', 'validationLevel', 'validationAction', 'changeStreamPreAndPostImages'],
    ...['encryptedFields', 'storageEngine', 'indexOptionDefaults', 'viewOn', 'pipeline'],
    ...['autoIndexId', 'flags', 'recordPreImages', 'temp'],
  ],
  ofServer: ['recordIdsReplicated'],
  refused: ['timeseries', 'of a later server', 'constructor', ''],
};

describe('fateOfOption', () => {
  for (const [fate, names] of Object.entries(options))
    for (const name of names)
      it(`${name === '' ? 'none' : name}: ${fate}`, () => {
        assert.equal(fateOfOption(name), fate);
      });
});

describe('hasOption', () => {
  for (const [version, option, has] of [
    ['6.0.27', 'recordPreImages', true],
    ['7.0.0', 'recordPreImages', false],
    ['8.2.0', 'recordPreImages', false],
    ['8.2.0', 'capped', true],
  ] as const)
    it(`${option} of ${version}: ${String(has)}`, () => {
      assert.equal(hasOption(version, option), has);
    });
});

describe('isKnownIndexChange', () => {
  for (const field of ['name', 'hidden', 'expireAfterSeconds', 'unique', 'prepareUnique'])
    it(`knows ${field}`, () => {
      assert.ok(isKnownIndexChange(field));
    });

  it('knows forceNonUnique', () => {
    assert.ok(isKnownIndexChange('forceNonUnique'));
  });

  for (const field of ['keyPattern', 'of a later server', ''])
    it(`does not know ${field === '' ? 'none' : field}`, () => {
      assert.ok(!isKnownIndexChange(field));
    });
});
