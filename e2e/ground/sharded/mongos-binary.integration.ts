import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { mongosBinary } from './mongos-binary.ts';

describe('the mongos that tests use', () => {
  const { PATH, MONGOS_BINARY, SERVERS } = process.env;
  const before = { PATH, MONGOS_BINARY, SERVERS };
  let folder = '';
  let mongos = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mongos-'));
    mongos = join(folder, 'mongos');
    await writeFile(mongos, '');
    await chmod(mongos, 0o755);
    delete process.env['MONGOS_BINARY'];
    delete process.env['SERVERS'];
    process.env['PATH'] = join(folder, 'nothing');
  });
  afterEach(async () => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
    await rm(folder, { recursive: true });
  });

  it('is none where there is none, or none that can be run', async () => {
    assert.equal(await mongosBinary('source'), undefined);
    await chmod(mongos, 0o644);
    process.env['PATH'] = folder;
    assert.equal(await mongosBinary('source'), undefined);
  });

  it('is that on PATH', async () => {
    process.env['PATH'] = [join(folder, 'nothing'), folder].join(delimiter);
    assert.equal(await mongosBinary('source'), mongos);
  });

  it('is that of MONGOS_BINARY before all, which has to be there', async () => {
    process.env['MONGOS_BINARY'] = mongos;
    assert.equal(await mongosBinary('source'), mongos);
    process.env['MONGOS_BINARY'] = join(folder, 'other');
    await assert.rejects(mongosBinary('source'), /ENOENT/);
  });
  it('is that of the side of the pair, and never another', async () => {
    process.env['SERVERS'] = '7.0-8.0';
    process.env['PATH'] = folder;
    process.env['MONGOS_BINARY'] = `8.0=${mongos}`;
    assert.equal(await mongosBinary('destination'), mongos);
    assert.equal(await mongosBinary('source'), undefined);
  });
});
