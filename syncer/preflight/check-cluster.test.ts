import assert from 'node:assert/strict';
import { requireFeatureVersion } from './check-cluster.ts';

describe('requireFeatureVersion', () => {
  const required = (version: string, targetVersion?: string): void => {
    requireFeatureVersion('cluster1 (a:27017)', { version, targetVersion });
  };

  for (const version of ['6.0', '7.0', '8.0', '10.0']) {
    it(`takes ${version}`, () => {
      required(version);
    });
  }

  for (const version of ['5.0', '4.4']) {
    it(`refuses ${version}`, () => {
      assert.throws(
        () => {
          required(version);
        },
        {
          name: 'FeatureVersionNotSupported',
          message: `the featureCompatibilityVersion of cluster1 (a:27017) is ${version}; 6.0 is required`,
        },
      );
    });
  }

  for (const [version, targetVersion] of [
    ['5.0', '6.0'],
    ['5.0', '5.0'],
    ['6.0', '7.0'],
    ['6.0', '6.0'],
  ] as const) {
    it(`refuses ${version} on its way to ${targetVersion}`, () => {
      assert.throws(
        () => {
          required(version, targetVersion);
        },
        {
          name: 'FeatureVersionNotSupported',
          message: `the featureCompatibilityVersion of cluster1 (a:27017) is still being changed to ${targetVersion}`,
        },
      );
    });
  }
});
