import assert from 'node:assert/strict';
import { compileOptions } from '../../service/options.ts';
import { optionsOfInstance, syncerOptionTable, type SyncerOptions } from './syncer-options.ts';

describe('optionsOfInstance', () => {
  const optionsWith = (env: Readonly<Record<string, string>>): SyncerOptions => {
    const flags = { cluster0: 'mongodb://old/', cluster1: 'mongodb://new/' };
    return optionsOfInstance(compileOptions(syncerOptionTable, { flags, env }));
  };
  const ids = { CLUSTERSYNC_IDS: 'shard-a,shard-b' };

  it('takes any, none or a digest as the sync that it continues, and nothing else', () => {
    const continuing = (text: string) => optionsWith({ CLUSTERSYNC_CONTINUES: text }).continues;
    const digest = '0a'.repeat(32);
    for (const text of ['any', 'none', digest]) assert.equal(continuing(text), text);
    for (const text of ['None', 'all', digest.slice(1), `${digest}0`, digest.toUpperCase()])
      assert.throws(() => continuing(text), { name: 'InvalidOption', message: /^--continues: / });
  });

  it('takes the name at its place, and lets the first prefer to coordinate', () => {
    const first = optionsWith({ ...ids, CLUSTERSYNC_INSTANCE: '0' });
    assert.deepEqual([first.id, first.preferCoordinator], ['shard-a', true]);
    const second = optionsWith({ ...ids, CLUSTERSYNC_INSTANCE: '1' });
    assert.deepEqual([second.id, second.preferCoordinator], ['shard-b', false]);
    const preferred = { CLUSTERSYNC_INSTANCE: '1', CLUSTERSYNC_PREFER_COORDINATOR: 'true' };
    assert.equal(optionsWith({ ...ids, ...preferred }).preferCoordinator, true);
  });

  it('refuses a name that is there twice', () => {
    const env = { CLUSTERSYNC_IDS: 'a,b,a', CLUSTERSYNC_INSTANCE: '0' };
    assert.throws(() => optionsWith(env), {
      name: 'InvalidOption',
      message: '--ids: "a" is listed twice',
    });
  });

  for (const [list, name] of [
    ['a,b,', ''],
    ['a,,b', ''],
    ['a, b', ' b'],
    ['a,b ', 'b '],
    ['a,b\n', 'b\n'],
  ] as const)
    it(`refuses ${JSON.stringify(list)}, for the name ${JSON.stringify(name)}`, () => {
      const env = { CLUSTERSYNC_IDS: list, CLUSTERSYNC_INSTANCE: '0' };
      assert.throws(() => optionsWith(env), {
        name: 'InvalidOption',
        message: `--ids: ${JSON.stringify(name)} is not a name: a name has at least one character, and no leading or trailing space`,
      });
    });

  it('takes a name with spaces in it, which a shard may have', () => {
    const env = { CLUSTERSYNC_IDS: 'a b,c', CLUSTERSYNC_INSTANCE: '0' };
    assert.equal(optionsWith(env).id, 'a b');
  });

  it('refuses a place without names, which would select nothing', () => {
    assert.throws(() => optionsWith({ CLUSTERSYNC_INSTANCE: '0' }), {
      ...{
        name: 'InvalidOption',
        message: '--instance: it is an index in --ids, which is missing',
      },
    });
  });

  it('leaves an instance alone that is the only one', () => {
    const { id, preferCoordinator } = optionsWith({ CLUSTERSYNC_ID: 'old' });
    assert.deepEqual([id, preferCoordinator], ['old', false]);
  });

  for (const instance of [undefined, '2']) {
    it(`refuses ${instance ?? 'nothing'} as a place in two names`, () => {
      const env = { ...ids, ...(instance !== undefined && { CLUSTERSYNC_INSTANCE: instance }) };
      assert.throws(() => optionsWith(env), { name: 'InvalidOption', message: /--instance/ });
    });
  }
});
