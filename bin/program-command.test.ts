import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { commandOf, personalCommand } from './program-command.ts';

const executable = fileURLToPath(new URL('clustersync.ts', import.meta.url));

/** The commands fail before they ask for it. */
const uri = 'mongodb://user:secret@127.0.0.1:1/';

/** The output of a failing command. */
async function saidBy(
  args: readonly string[],
  env: Record<string, string> = {},
  program: readonly string[] = [executable],
): Promise<string> {
  const options = { env: { ...process.env, ...env } };
  const failure: unknown = await promisify(execFile)(
    process.execPath,
    [...program, ...args],
    options,
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
  const { stdout, stderr } = failure as { readonly stdout: string; readonly stderr: string };
  return stdout + stderr;
}

describe('the help of a program', () => {
  it('says of a flag that may have no value only once that it may', () => {
    const options = {
      clean: { type: 'boolean', default: false, description: 'delete everything' },
    } as const;
    const help = commandOf({ name: 'verifier', description: '', options }).helpInformation();
    const text = help.replaceAll(/\s+/g, ' ');
    const shown = '--clean [true|false] delete everything (env: CLUSTERSYNC_CLEAN; default: false)';
    assert.ok(text.includes(`${shown} --help`) || text.includes(`${shown} -h`), text);
  });
});

describe('the help of options', () => {
  const options = {
    output: { type: 'string', default: 'text', choices: ['text', 'json'], description: 'format' },
    web: {
      type: 'integer',
      preset: 8081,
      range: [0, 65_535],
      valueName: 'port',
      description: 'serve a page',
    },
    speed: { type: 'integer', default: 3, range: [1, 9], description: 'speed' },
  } as const;
  const shown = {
    output: 'format (one of: text, json; default: text)',
    web: 'serve a page (from 0 to 65535; 8081 if no port is given)',
    speed: 'speed (from 1 to 9; default: 3)',
  };

  it('tells choices, ranges and defaults of a command for people in one style', () => {
    const load = async (): Promise<() => Promise<number>> => await Promise.reject(new Error());
    const description = { name: 'run', description: '', help: '', options, load };
    const text = personalCommand(description).helpInformation().replaceAll(/\s+/g, ' ');
    assert.ok(text.includes(`--output <string> ${shown.output} --web`), text);
    assert.ok(text.includes(`--web [port] ${shown.web} --speed`), text);
    assert.ok(text.includes(`--speed <integer> ${shown.speed} -h`), text);
  });

  it('tells those of a program in the same style, after the environment', () => {
    const { output, speed } = options;
    const command = commandOf({ name: 'syncer', description: '', options: { output, speed } });
    const text = command.helpInformation().replaceAll(/\s+/g, ' ');
    const withEnvironment = (name: keyof typeof shown): string =>
      shown[name].replace('(', `(env: CLUSTERSYNC_${name.toUpperCase()}; `);
    assert.ok(text.includes(`--output <string> ${withEnvironment('output')} --speed`), text);
    assert.ok(text.includes(`--speed <integer> ${withEnvironment('speed')} -h`), text);
  });
});

describe('the command line', function () {
  this.timeout(60_000);

  const commands: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    [
      'a program',
      ['syncer', '--cluster0', uri, '--cluster1', uri, '--host', 'host.invalid'],
      ['--cluster0File'],
    ],
    [
      'a command of a program',
      ['verifier', 'report', '--metaURI', uri, '--format', 'none'],
      ['--metaURIFile', 'CLUSTERSYNC_META_URI'],
    ],
    ['a command for people', ['run', '--source', uri], ['--source-file']],
  ];
  for (const [what, args, ways] of commands) {
    it(`warns of a connection string in the arguments of ${what}, and does not repeat it`, async () => {
      const said = await saidBy(args);
      for (const way of ways) assert.ok(said.includes(way), said);
      assert.ok(!said.includes('secret'), said);
    });
  }

  const mistyped: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['a flag', ['run', `--sourse=${uri}`], /unknown option '--sourse'/],
    ['a flag of a token', ['status', '--api-tokn=secret'], /unknown option '--api-tokn'/],
    ['an argument', ['status', uri], /too many arguments/],
    ['a command', [uri], /unknown command/],
    ['a command of a program', ['verifier', 'report', `--metaUR=${uri}`], /'--metaUR'/],
    ['a choice', ['run', '--output', uri], /is invalid/],
  ];
  for (const [what, args, told] of mistyped) {
    it(`does not repeat a secret in what is wrong with ${what}`, async () => {
      const said = await saidBy(args);
      assert.match(said, told);
      assert.doesNotMatch(said, /secret/);
    });
  }

  it('does not repeat a secret in an error that nobody has thought of', async () => {
    const module = fileURLToPath(new URL('program-command.ts', import.meta.url));
    const error = `new Error('cannot reach ${uri}')`;
    for (const thrown of [error, `Object.assign(${error}, { stack: undefined })`, `'no ${uri}'`]) {
      const script = `import { reportError } from '${module}'; reportError(${thrown}); process.exit(2);`;
      const said = await saidBy(['--input-type=module', '--eval', script], {}, []);
      assert.match(said, /^clustersync: .*mongodb:\/\/<credentials>@127\.0\.0\.1:1\//);
      assert.doesNotMatch(said, /secret/);
    }
  });

  it('ends the message of an error of the table with its name, and that of wrong usage without one', async () => {
    const said = await saidBy(['verifier', 'report', '--metaURI', uri, '--format', 'none']);
    assert.match(said, /^clustersync: --format: expected one of .* \(InvalidOption\)\n/m);
    const mistyped = await saidBy(['run', '--sourse']);
    assert.match(mistyped, /^error: unknown option '--sourse'/);
    assert.doesNotMatch(mistyped, /InvalidOption/);
  });

  it('does not call data different where it fails by an error that nobody has caught', async () => {
    const fault = `process.on('newListener', (name) => {
      if (name === 'uncaughtException') setImmediate(() => { throw new Error('a fault'); });
    });`;
    const args = ['--import', `data:text/javascript,${encodeURIComponent(fault)}`, executable];
    // While it waits for a server that does not exist.
    const options = ['verifier', 'report', '--metaURI', uri];
    const failure: unknown = await promisify(execFile)(process.execPath, [
      ...args,
      ...options,
    ]).catch((error: unknown) => error);
    const { code, stderr } = failure as { readonly code: number; readonly stderr: string };
    assert.match(stderr, /a fault/);
    assert.equal(code, 2);
  });

  it('does not warn of one in the environment', async () => {
    const said = await saidBy(['verifier', 'report', '--format', 'none'], {
      CLUSTERSYNC_META_URI: uri,
    });
    assert.match(said, /--format/);
    assert.doesNotMatch(said, /other users of this machine/);
  });

  it('shows nothing of an error that directs the terminal', async () => {
    const said = await saidBy([
      'verifier',
      'report',
      '--format',
      '\u001b[2J\u009b31m',
      '--metaURI',
      uri,
    ]);
    assert.match(said, /format/);
    assert.match(said, /^[\n\u0020-\u007e\u00a0-\uffff]*$/);
    const mistyped = await saidBy(['run', '--\u001b[2J\u009b31m']);
    assert.match(mistyped, /unknown option/);
    assert.match(mistyped, /^[\n\u0020-\u007e\u00a0-\uffff]*$/);
  });
});
