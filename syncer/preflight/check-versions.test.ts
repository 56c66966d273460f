import assert from 'node:assert/strict';
import type { SyncError } from '../../service/errors.ts';
import {
  requireFeatureVersion,
  requireFeatureVersionPair,
  serverVersionErrors,
} from './check-versions.ts';

const at = (option: string, version: string): Parameters<typeof serverVersionErrors>[0] => ({
  option,
  host: 'a:27017',
  version,
});

describe('serverVersionErrors', () => {
  const check = (from: string, to: string): SyncError[] =>
    serverVersionErrors(at('cluster0', from), at('cluster1', to));

  for (const [from, to] of [
    ['6.0.0', '6.0.26'],
    ['6.0.27', '6.0.5'],
    ['6.0.27', '7.0.1'],
    ['7.0.28', '8.2.0-rc0'],
    ['6.0.5', '8.0.4'],
    ['8.0.4', '8.2.0'],
    ['10.0.0', '10.0.0'],
  ] as const) {
    it(`takes ${from} to ${to}`, () => {
      assert.deepEqual(check(from, to), []);
    });
  }

  for (const [from, to, message] of [
    ['5.0.31', '6.0.5', 'cluster0 (a:27017) runs 5.0.31; 6.0 is required'],
    ['6.0.5', '4.4.29', 'cluster1 (a:27017) runs 4.4.29; 6.0 is required'],
    ...[
      ['7.0.28', '6.0.27'],
      ['8.2.0', '8.0.4'],
      ['10.0.0', '9.0.0'],
    ].map(
      ([from = '', to = '']) =>
        [
          ...[from, to],
          `cluster1 (a:27017) runs ${to}, which is older than the source: cluster0 (a:27017) runs ${from}`,
        ] as const,
    ),
    [
      ...(['6.0.5', '9.0.0'] as const),
      'cluster1 (a:27017) runs 9.0.0, more than 2 major versions ahead of the source: cluster0 (a:27017) runs 6.0.5',
    ],
  ] as const) {
    it(`refuses ${from} to ${to}, by name`, () => {
      const [first] = check(from, to);
      assert.deepEqual([first?.name, first?.message], ['ServerVersionNotSupported', message]);
    });
  }
});

describe('requireFeatureVersionPair', () => {
  const check = (from: string, to: string): void => {
    requireFeatureVersionPair(at('cluster0', from), at('cluster1', to));
  };

  it('takes a destination whose version is the same, or above', () => {
    check('6.0', '6.0');
    check('6.0', '7.0');
    check('7.0', '8.0');
  });

  it('refuses a destination whose version is below that of the source', () => {
    for (const [from, to] of [
      ['7.0', '6.0'],
      ['10.0', '8.0'],
    ] as const)
      assert.throws(
        () => {
          check(from, to);
        },
        {
          name: 'FeatureVersionNotSupported',
          message: `the featureCompatibilityVersion of cluster1 (a:27017) is ${to}, below that of the source, cluster0 (a:27017): ${from}`,
        },
      );
  });
});

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
