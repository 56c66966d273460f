import assert from 'node:assert/strict';
import { configMaps, namespaces, statefulSets } from './builtin-resources.ts';
import { apiVersionOf, objectKey, parseKey, resourcePath } from './resource.ts';

describe('resourcePath', () => {
  const cases = [
    [resourcePath(configMaps, {}), '/api/v1/configmaps'],
    [resourcePath(configMaps, { namespace: 'shop' }), '/api/v1/namespaces/shop/configmaps'],
    [
      resourcePath(statefulSets, { namespace: 'shop', name: 'a' }, 'status'),
      '/apis/apps/v1/namespaces/shop/statefulsets/a/status',
    ],
    [resourcePath(namespaces, { name: 'shop' }), '/api/v1/namespaces/shop'],
    [
      resourcePath(configMaps, { namespace: '../x', name: 'a/b' }),
      '/api/v1/namespaces/..%2Fx/configmaps/a%2Fb',
    ],
  ] as const;
  for (const [path, wanted] of cases) {
    it(wanted, () => {
      assert.equal(path, wanted);
    });
  }

  it('keeps a name in its place, whatever it is', () => {
    for (const name of ['../victim', '../../victim/secrets/uri', 'uri?a=b', 'uri#a', 'a/b', '%2e'])
      assert.match(
        resourcePath(configMaps, { namespace: 'shop', name }),
        /^\/api\/v1\/namespaces\/shop\/configmaps\/[^/?#]+$/,
      );
  });

  it('needs a namespace for an object that has one', () => {
    assert.throws(() => resourcePath(configMaps, { name: 'a' }), /a namespace is required/);
  });
});

describe('apiVersionOf', () => {
  it('leaves the core group out', () => {
    assert.equal(apiVersionOf(configMaps), 'v1');
    assert.equal(apiVersionOf(statefulSets), 'apps/v1');
  });
});

describe('objectKey', () => {
  it('and back', () => {
    for (const ref of [{ name: 'a' }, { namespace: 'n', name: 'a' }]) {
      assert.deepEqual(parseKey(objectKey(ref)), ref);
    }
  });
});
