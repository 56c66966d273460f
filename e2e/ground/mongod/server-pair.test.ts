import assert from 'node:assert/strict';
import { givenPath, serverPair, sideOf } from './server-pair.ts';

describe('serverPair', () => {
  it('is not given where nothing is set', () => {
    assert.equal(serverPair(undefined), undefined);
    assert.equal(serverPair(''), undefined);
  });

  it('reads the source, then the destination', () => {
    assert.deepEqual(serverPair('6.0-7.0.28'), { source: '6.0', destination: '7.0.28' });
  });

  for (const text of ['6.0', '6.0-', '-7.0', '-', '6.0-7.0-8.0'])
    it(`refuses ${text}`, () => {
      assert.throws(() => serverPair(text), /SERVERS must be SOURCE-DESTINATION/);
    });
});

describe('sideOf', () => {
  it('is the source by default', () => {
    assert.equal(sideOf({}), 'source');
    assert.equal(sideOf({ name: 'set', syncerRoles: 'sourceWithWriteBlocking' }), 'source');
  });

  it('is the destination by name or by roles', () => {
    assert.equal(sideOf({ name: 'destination' }), 'destination');
    assert.equal(sideOf({ syncerRoles: 'destination' }), 'destination');
  });

  it('is as given before all', () => {
    assert.equal(sideOf({ side: 'destination', name: 'source' }), 'destination');
    assert.equal(sideOf({ side: 'source', syncerRoles: 'destination' }), 'source');
  });
});

describe('givenPath', () => {
  const cases = [
    [undefined, undefined, undefined],
    ['', undefined, undefined],
    ['/opt/mongos', undefined, '/opt/mongos'],
    ['/opt/mongos', '8.0', undefined],
    ['8.0=/opt/8/mongos', undefined, undefined],
    ['8.0=/opt/8/mongos', '8.0', '/opt/8/mongos'],
    ['7.0=/opt/7/mongos,8.0=/opt/8/mongos', '8.0', '/opt/8/mongos'],
    ['8.0.4=/opt/8/mongos', '8.0', '/opt/8/mongos'],
    ['8.0.4=/opt/8/mongos', '8.0.1', undefined],
    ['8.01=/opt/8/mongos', '8.0', undefined],
    ['/opt/mongos,8.0=/opt/8/mongos', undefined, '/opt/mongos'],
  ] as const;
  for (const [text, server, path] of cases)
    it(`finds ${path ?? 'nothing'} for ${server ?? 'no server'} in ${text ?? 'nothing'}`, () => {
      assert.equal(givenPath(text, server), path);
    });
});
