import assert from 'node:assert/strict';
import type { SyncError } from '../../service/errors.ts';
import { parseStartBody } from './command-bodies.ts';

describe('what a refused start tells of the names in its body', () => {
  const clusters = { source: 'cluster0', destination: 'cluster1' };

  for (const uri of ['mongodb://user:hunter2@host/', 'mongodb+srv://user:a/hunter2@host'])
    it(`is no password: of ${uri}`, () => {
      for (const body of [
        { ...clusters, [uri]: 1 },
        { ...clusters, sharding: { [uri]: 1 } },
      ])
        assert.throws(
          () => parseStartBody(body),
          ({ message }: SyncError) => message.includes('host') && !message.includes('hunter2'),
        );
    });
});
