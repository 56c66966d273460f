import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { MongoServerError } from 'mongodb';
import { codeGroups, serverCodeOf, serverCodes, type CodeClass } from './server-codes.ts';
import {
  isIndexRefused,
  isRefused,
  isRefusedByIndex,
  isTransient,
  isUnclear,
  neededAction,
  serverCode,
} from './server-errors.ts';

const error = (code: number): MongoServerError => new MongoServerError({ message: 'x', code });

/** Numbers below the highest for which no version from 6.0 on has a name. */
const unused = [
  44, 99, 131, 196, 304, 305, 320, 353, 368, 394, 397, 399, 437, 438, 439, 441,
] as const;

const highestInOrder = 462;

describe('the table of the error codes of servers', () => {
  it('has each code of the list of the server, in one group', () => {
    const count = codeGroups.reduce((sum, { codes }) => sum + codes.size, 0);
    assert.equal(serverCodes().length, count);
    assert.ok(count > 500);
    const missing = Array.from({ length: highestInOrder + 1 }, (_, code) => code).filter(
      (code) => serverCodeOf(code) === undefined,
    );
    assert.deepEqual(missing, unused);
  });

  it('has each code that the program calls by a name', () => {
    for (const [name, code] of Object.entries(serverCode)) assert.ok(serverCodeOf(code), name);
  });

  it('is what errors are judged by: each code is of one kind', () => {
    for (const { code, name, group } of serverCodes()) {
      const kinds: Record<CodeClass, boolean> = {
        transient: isTransient(error(code)),
        unclear: isUnclear(error(code)),
        ours: isRefused(error(code)),
        theirs: neededAction(error(code)) === group.meaning,
      };
      const found = Object.entries(kinds).flatMap(([kind, is]) => (is ? [kind] : []));
      assert.deepEqual(found, [group.class], `${code} ${name}`);
    }
  });

  it('takes a code that it does not have, and an answer without one, for unclear', () => {
    for (const one of [error(77_777), new MongoServerError({ message: 'x' })]) {
      assert.equal(isUnclear(one), true);
      assert.equal(isTransient(one) || isRefused(one) || isIndexRefused(one), false);
    }
    assert.equal(isUnclear(new Error('x')), false);
  });

  it('lets only what says that an index cannot be leave that out', () => {
    for (const code of [14_031, 276, 11_601, 11_600, 13, 50, 112, 26, 1, 96, 77_777]) {
      assert.equal(isIndexRefused(error(code)), false, String(code));
      assert.equal(isRefusedByIndex(error(code)), false, String(code));
    }
    for (const code of [171, 16_755, 17_262]) assert.equal(isRefusedByIndex(error(code)), true);
    for (const code of [67, 85, 86]) {
      assert.equal(isIndexRefused(error(code)), true);
      assert.equal(isRefusedByIndex(error(code)), false);
    }
  });

  it('takes what the server calls retryable for passing alone, whatever its code', () => {
    // One of each class: an impossible index, keys that an index cannot have, a refusal, an unclear answer.
    for (const code of [67, 171, 72, 1]) {
      const errorLabels = ['RetryableWriteError'];
      const one = new MongoServerError({ message: 'x', code, errorLabels });
      const found = { isTransient, isUnclear, isRefused, isIndexRefused };
      const names = Object.entries(found).filter(([, is]) => is(one));
      assert.deepEqual(
        names.map(([name]) => name),
        ['isTransient'],
        String(code),
      );
    }
  });

  it('is the table of the documentation', async () => {
    const page = await readFile(
      new URL('../docs/reference/server-errors.md', import.meta.url),
      'utf8',
    );
    const rows = Array.from(page.matchAll(/^\| +(\d+) +\| `(\w+)` +\|/gm), ([, code, name]) => ({
      code: Number(code),
      name,
    }));
    assert.deepEqual(
      rows,
      serverCodes().map(({ code, name }) => ({ code, name })),
    );
  });
});
