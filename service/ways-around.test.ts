import assert from 'node:assert/strict';
import { Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import config from '../eslint.config.ts';

/** The lint rules for terminal output, and for regular expressions. */
const block = config.find(({ ignores }) => ignores?.includes('service/terminal.ts') === true);
const linter = new Linter();

function problems(code: string): number {
  const languageOptions = { parser: tseslint.parser };
  return linter.verify(code, { languageOptions, rules: block?.rules ?? {} }).length;
}

describe('the lint rules for terminal output', () => {
  const ways = [
    'process.stdout.write(text)',
    'process.stderr.write(text)',
    'process.stdout.end(text)',
    'const out = process.stdout',
    'const { stderr } = process',
    'const p = process',
    "process['stdout'].write(text)",
    'globalThis.process.stderr.write(text)',
    'globalThis.console.log(text)',
    'child.pipe(process.stdout)',
    'process._rawDebug(text)',
    'process.emitWarning(text)',
    "import { stdout } from 'node:process'",
    "import * as p from 'process'",
    "import { log } from 'node:console'",
    "import { WriteStream } from 'node:tty'",
    "await import('node:process')",
    'writeSync(1, text)',
    "writeFileSync('/dev/stderr', text)",
    "open('/proc/self/fd/1')",
    "spawn('kubectl', [], { stdio: 'inherit' })",
    "spawn('kubectl', [], { stdio: ['ignore', 'pipe', 'inherit'] })",
  ];
  for (const way of ways)
    it(`refuse ${way}`, () => {
      assert.ok(problems(way) > 0);
    });

  for (const other of [
    "spawn('kubectl', [], { stdio: ['inherit', 'pipe', 'pipe'] })",
    "import type { ReadStream } from 'node:tty'",
    "process.env['TERM']",
    'child.stdout.on(event, take)',
    'process.exit()',
  ])
    it(`allow ${other}`, () => {
      assert.equal(problems(other), 0);
    });
});

describe('the lint rules for regular expressions', () => {
  for (const way of [
    'new RegExp(text)',
    "new RegExp(['(a+', ')+$'].join(''))",
    'RegExp(text)',
    'globalThis.RegExp(text)',
    "text.match('(a+)+$')",
    'text.search(`(a+)+${end}`)',
    'text.matchAll("a+")',
  ])
    it(`refuse one that is built at run time: ${way}`, () => {
      assert.ok(problems(way) > 0);
    });

  it('allow a literal, which the other rules check', () => {
    assert.equal(problems('text.match(/a/); text.matchAll(named); url.search'), 0);
  });
});
