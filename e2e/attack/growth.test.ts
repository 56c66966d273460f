import assert from 'node:assert/strict';
import fc from 'fast-check';
import { cutTo, fitTo, widthOf } from '../../cli/render/width.ts';
import { destinationHosts } from '../../operator/clustersync/destination-hosts.ts';
import { errorIn } from '../../operator/operand/http-api.ts';
import { checkConnectionString } from '../../mongo/connection-options.ts';
import { operandName } from '../../operator/operand/names.ts';
import { SyncError } from '../../service/errors.ts';
import { jsonValue } from '../../service/json-text.ts';
import { redact } from '../../service/redact.ts';
import { harmless, harmlessJson, harmlessXml } from '../../service/terminal.ts';
import { parseStartBody } from '../../syncer/options/start-body.ts';

/** What meets text from outside: a request, a pod, a database, a resource of a tenant. */
const functions: Readonly<Record<string, (text: string) => unknown>> = {
  redact,
  'an error': (text) => new SyncError('InternalError', text),
  harmless,
  harmlessJson,
  harmlessXml,
  jsonValue,
  widthOf,
  'cutTo and fitTo': (text) => [cutTo(text, 80), fitTo(text, 80)],
  'the error of a pod': (text) => errorIn({ error: text }, false),
  'the described error of a pod': (text) => errorIn({ error: 'X', errorDescription: text }, false),
  destinationHosts: (text) => destinationHosts(text, 'shop'),
  'the hosts of a connection string': (text) => destinationHosts(`mongodb://${text}`, 'shop'),
  'the options of a connection string': (text) => destinationHosts(`mongodb://a/?${text}`, 'shop'),
  checkConnectionString: (text) => {
    const use = { option: '--cluster0', refusesFiles: true };
    assert.throws(() => {
      checkConnectionString(`mongodb://a/?${text}`, use);
    }, SyncError);
  },
  operandName: (text) => operandName(text, 'syncer'),
  parseStartBody: (text) => {
    const body = { source: text, includeNamespaces: [{ database: text, [text]: [text] }] };
    assert.throws(() => parseStartBody(body), SyncError);
  },
};

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
    'Name: ',
  ],
];

const short = 64 * 1024;
const long = 1024 * 1024;

function millisecondsOf(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function repeated(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

/**
 * Compares the CPU time for a text and for one sixteen times as long: what looks at a text once takes sixteen times as long,
 * what looks at the rest from each character 256 times. Below some milliseconds, other work of the process counts for as much.
 */
function assertGrowsWithTheText(run: (text: string) => unknown, start: string, unit: string): void {
  const [few, many] = [short, long].map((length) => start + repeated(unit, length));
  const before = Math.max(
    5,
    millisecondsOf(() => run(few ?? '')),
  );
  const after = millisecondsOf(() => run(many ?? ''));
  assert.ok(after < 64 * before, `${long} characters: ${after} ms, ${short}: ${before} ms`);
}

describe('text from outside, up to 1 MB', function () {
  this.timeout(120_000);

  for (const [name, run] of Object.entries(functions)) {
    it(`takes time in proportion to its length: ${name}`, () => {
      for (const piece of pieces) assertGrowsWithTheText(run, '', piece);
      const unit = fc.array(fc.constantFrom(...pieces), { minLength: 2, maxLength: 6 });
      const start = fc.constantFrom(...pieces);
      fc.assert(
        fc.property(start, unit, (first, all) => {
          assertGrowsWithTheText(run, first, all.join(''));
        }),
        { numRuns: 8 },
      );
    });
  }
});
