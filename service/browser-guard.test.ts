import assert from 'node:assert/strict';
import { isLoopback } from './browser-guard.ts';

describe('isLoopback', () => {
  it('is true for addresses and names of this machine alone, not for what only looks like one', () => {
    for (const host of ['localhost', 'LocalHost', '127.0.0.1', '127.9.9.9', '::1'])
      assert.equal(isLoopback(host), true, host);
    const others = [
      '127.rebind.example',
      '127.',
      '127.0.0.1.example',
      '128.0.0.1',
      '0.0.0.0',
      '::',
      '',
    ];
    for (const host of others) assert.equal(isLoopback(host), false, host);
  });
});
