import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { ESLint, Linter } from 'eslint';
import * as regexp from 'eslint-plugin-regexp';
import fc from 'fast-check';
import {
  createSourceFile,
  isImportDeclaration,
  isNamedImports,
  isStringLiteral,
  ScriptTarget,
} from 'typescript';
import { SyncError } from '../../service/errors.ts';
import {
  parseRepairBody,
  parseResetBody,
  parseStartBody,
} from '../../syncer/options/command-bodies.ts';
import { filterOf } from '../../verifier/passes/scope.ts';
import { meetingText, notMeetingText, writingText } from './outside-text.ts';

/** What texts from outside are made of where somebody wants them to take long. */
const pieces = [
  ...[
    'a',
    'aA',
    '0',
    '-',
    '.',
    ' ',
    '\n',
    '\t',
    '"',
    "'",
    '`',
    '\\',
    '/',
    '//',
    ':',
    '@',
    '=',
    '&',
    '?',
    ';',
    ',',
  ],
  ...[
    '[',
    ']',
    '{"a":',
    '}',
    '%',
    '%41',
    '\u0000',
    '\u001b[',
    '\u202e',
    'é',
    '注',
    '\ud800',
    '\u{1f600}',
  ],
  ...[
    'mongodb://',
    'mongodb+srv://',
    'mongodb://a@',
    'http://',
    '://',
    '?proxyPassword=',
    'a=1&',
    'a.b,',
    'Name: ',
  ],
];

const short = 64 * 1024;
const long = 1024 * 1024;

async function millisecondsOf(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function repeated(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

/** Below so many milliseconds, other work of the process (compiling, collecting garbage) counts for as much on a busy machine. */
const minMilliseconds = 20;

/** Such work only adds to what is measured: the least of some measurements is nearest to what the text costs. */
const maxMeasurements = 4;

/**
 * Compares the CPU time for a text and for one sixteen times as long: what looks at a text once takes sixteen times as long,
 * what looks at the rest from each character 256 times.
 */
async function assertGrowsWithTheText(
  run: (text: string) => unknown,
  start: string,
  unit: string,
): Promise<void> {
  const [few = '', many = ''] = [short, long].map((length) => start + repeated(unit, length));
  const measured: string[] = [];
  while (measured.length < maxMeasurements) {
    // Again each time: another load of the machine makes both slower.
    const before = Math.max(minMilliseconds, await millisecondsOf(() => run(few)));
    const after = await millisecondsOf(() => run(many));
    if (after < 64 * before) return;
    measured.push(`${after} ms after ${before} ms`);
  }
  assert.fail(`${long} characters against ${short}: ${measured.join(', ')}`);
}

async function wholeOf(pieces: AsyncIterable<string>): Promise<string> {
  let whole = '';
  for await (const piece of pieces) whole += piece;
  return whole;
}

describe('text from outside, up to 1 MB', function () {
  this.timeout(120_000);

  const written = Object.entries(writingText).map(
    ([name, write]) => [name, async (text: string) => await wholeOf(write(text))] as const,
  );
  for (const [name, run] of [...Object.entries(meetingText), ...written]) {
    it(`takes time in proportion to its length: ${name}`, async () => {
      for (const piece of pieces) await assertGrowsWithTheText(run, '', piece);
      const unit = fc.array(fc.constantFrom(...pieces), { minLength: 2, maxLength: 6 });
      const start = fc.constantFrom(...pieces);
      await fc.assert(
        fc.asyncProperty(start, unit, async (first, all) => {
          await assertGrowsWithTheText(run, first, all.join(''));
        }),
        { numRuns: 8 },
      );
    });
  }

  it('is given to each function of these modules that may meet it: a new one is to be, too', async () => {
    const here = new URL('outside-text.ts', import.meta.url);
    const { statements } = createSourceFile(
      'a.ts',
      await readFile(here, 'utf8'),
      ScriptTarget.Latest,
    );
    const given = new Set<string>();
    const exported = new Map<string, string>();
    for (const statement of statements) {
      if (!isImportDeclaration(statement) || !isStringLiteral(statement.moduleSpecifier)) continue;
      const module = statement.moduleSpecifier.text;
      const bindings = statement.importClause?.namedBindings;
      if (!module.startsWith('../') || !bindings || !isNamedImports(bindings)) continue;
      for (const { name, propertyName } of bindings.elements)
        given.add(`${module} ${(propertyName ?? name).text}`);
      const all = (await import(new URL(module, here).href)) as Record<string, unknown>;
      for (const [name, value] of Object.entries(all))
        if (typeof value === 'function') exported.set(`${module} ${name}`, name);
    }
    assert.ok(exported.size > 80, `${exported.size} functions`);
    const left = [...exported].flatMap(([place, name]) => (given.has(place) ? [] : [name]));
    assert.deepEqual(left.sort(), Object.values(notMeetingText).flat().sort());
  });

  it('has lint refuse expressions whose time grows faster than the text, in every room', async () => {
    const eslint = new ESLint();
    const rooms = ['bin', 'cli', 'dashboard', 'mongo', 'operator', 'service', 'sync-api'];
    const linter = new Linter();
    for (const room of [...rooms, 'syncer', 'verifier']) {
      const config = (await eslint.calculateConfigForFile(`${room}/any.ts`)) as Linter.Config;
      const rules = Object.entries(config.rules ?? {}).filter(([name]) =>
        name.startsWith('regexp'),
      );
      const known = { plugins: { regexp }, rules: Object.fromEntries(rules) };
      for (const expression of ['/^(?:a+)+$/', '/a+$/'])
        assert.ok(linter.verify(`export const x = ${expression};`, known).length > 0, room);
      assert.deepEqual(linter.verify('export const x = /^a+$/;', known), []);
    }
  });
});

/** Places of a body or an option where somebody puts a list of as many values as fit into 1 MiB. */
const lists: Readonly<Record<string, (list: readonly unknown[]) => unknown>> = {
  'the body of a start': (list) => parseStartBody(list),
  'the fields of a start': (list) => parseStartBody(Object.assign({}, list)),
  'includeNamespaces of a start': (list) => parseStartBody({ includeNamespaces: list }),
  'collections of a start': (list) => {
    return parseStartBody({ excludeNamespaces: [{ database: 'shop', collections: list }] });
  },
  'shardingEntries of a start': (list) => parseStartBody({ sharding: { shardingEntries: list } }),
  'a shard key of a start': (list) => {
    const entry = { database: 'a', collection: 'b', shardCollection: { key: list } };
    return parseStartBody({ sharding: { shardingEntries: [entry] } });
  },
  'the body of a repair': (list) => parseRepairBody({ comparison: list }),
  'the body of a reset': (list) => parseResetBody({ destination: list }),
  'includeNamespaces of a verifier': (list) => filterOf(scope(list)),
  'collections of a verifier': (list) => {
    return filterOf(scope([{ database: 'shop', collections: list }]));
  },
};

const listed: Readonly<Record<string, unknown>> = {
  ...{ numbers: 1, objects: {}, strings: '', lists: [], nulls: null, 'wrong fields': { a: 1 } },
  'fields of wrong types': { database: 1, databaseRegex: 1, collections: 1, collectionsRegex: 1 },
  ...{ databases: { database: 'shop' }, keys: { a: 1 } },
};

function scope(list: readonly unknown[]): Parameters<typeof filterOf>[0] {
  const text = JSON.stringify(list);
  return { verifyAll: false, includeNamespaces: text, excludeNamespaces: undefined };
}

describe('a list from outside, in 1 MiB', function () {
  this.timeout(60_000);

  for (const [place, run] of Object.entries(lists))
    for (const [kind, value] of Object.entries(listed))
      it(`takes less than a second: ${place}, ${kind}`, async () => {
        const count = Math.floor(long / (JSON.stringify(value).length + 1));
        const list = Array.from({ length: count }, () => value);
        const tookMs = await millisecondsOf(() => {
          try {
            run(list);
          } catch (error) {
            assert.ok(error instanceof SyncError, String(error));
          }
        });
        assert.ok(tookMs < 1_000, `${count} values: ${tookMs} ms`);
      });
});
