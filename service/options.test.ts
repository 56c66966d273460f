import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  compileOptions,
  environmentName,
  kebabCase,
  type OptionSources,
  type OptionTable,
} from './options.ts';

const table = {
  config: { type: 'string', description: 'a YAML file with options' },
  cluster0: { type: 'string', description: 'connection string', required: true, secret: true },
  port: { type: 'integer', description: 'HTTP port', default: 27182, range: [0, 65_535] },
  share: { type: 'number', description: 'a part', default: 0.5 },
  logLevel: {
    type: 'string',
    description: 'log level',
    default: 'info',
    choices: ['debug', 'info'],
  },
  fast: { type: 'boolean', description: 'a switch', default: false },
} as const satisfies OptionTable;

describe('compileOptions', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'options-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const write = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return file;
  };

  it('prefers flags to the environment, the environment to the file, and the file to the default', () => {
    const config = write(
      'config.yaml',
      'port: 1\nlogLevel: debug\nfast: true\ncluster0: from-file\n',
    );
    const options = compileOptions(table, {
      flags: { config, port: '3' },
      env: { CLUSTERSYNC_PORT: '2', CLUSTERSYNC_CLUSTER0: 'from-env' },
    });
    assert.deepEqual(
      { ...options },
      { config, cluster0: 'from-env', port: 3, share: 0.5, logLevel: 'debug', fast: true },
    );
  });

  it('reads a secret from a file, without its last line feed', () => {
    const cluster0File = write('uri', 'mongodb://u:p@h/\n');
    assert.equal(
      compileOptions(table, { flags: { cluster0File }, env: {} }).cluster0,
      'mongodb://u:p@h/',
    );
  });

  const toB = (): string => write('uri', 'mongodb://b\n');
  const configOf = (text: string): string => write('config.yaml', text);
  const stronger: readonly (readonly [string, () => Partial<OptionSources>])[] = [
    [
      'a file of a flag to the environment',
      () => ({ flags: { cluster0File: toB() }, env: { CLUSTERSYNC_CLUSTER0: 'mongodb://a' } }),
    ],
    [
      'a file of a flag to the file with options',
      () => ({ flags: { cluster0File: toB(), config: configOf('cluster0: mongodb://a') } }),
    ],
    [
      'a file of the environment to the file with options',
      () => ({
        flags: { config: configOf('cluster0: mongodb://a') },
        env: { CLUSTERSYNC_CLUSTER0_FILE: toB() },
      }),
    ],
    [
      'the environment to a file of the file with options',
      () => ({
        flags: { config: configOf('cluster0File: /nowhere/uri') },
        env: { CLUSTERSYNC_CLUSTER0: 'mongodb://b' },
      }),
    ],
    [
      'a flag to a file of the environment',
      () => ({
        flags: { cluster0: 'mongodb://b' },
        env: { CLUSTERSYNC_CLUSTER0_FILE: '/nowhere/uri' },
      }),
    ],
    [
      'a file of the file with options to an empty value beside it',
      () => ({ flags: { config: configOf(`cluster0:\ncluster0File: ${toB()}\n`) } }),
    ],
  ];
  for (const [what, sources] of stronger) {
    it(`prefers ${what}, for a secret`, () => {
      const { cluster0 } = compileOptions(table, { flags: {}, env: {}, ...sources() });
      assert.equal(cluster0, 'mongodb://b');
    });
  }

  const both: readonly (readonly [string, () => Partial<OptionSources>, RegExp])[] = [
    [
      'the flags',
      () => ({ flags: { cluster0: 'x', cluster0File: toB() } }),
      /^--cluster0 and --cluster0File are mutually exclusive$/,
    ],
    [
      'the flags of a command for people',
      () => ({ flags: { cluster0: 'x', cluster0File: toB() }, spell: kebabCase }),
      /^--cluster0 and --cluster0-file are mutually exclusive$/,
    ],
    [
      'the environment',
      () => ({ env: { CLUSTERSYNC_CLUSTER0: 'x', CLUSTERSYNC_CLUSTER0_FILE: toB() } }),
      /^CLUSTERSYNC_CLUSTER0 and CLUSTERSYNC_CLUSTER0_FILE are mutually exclusive$/,
    ],
    [
      'the file with options',
      () => ({ flags: { config: configOf(`cluster0: x\ncluster0File: ${toB()}\n`) } }),
      /^cluster0 of --config and cluster0File of --config are mutually exclusive$/,
    ],
  ];
  for (const [what, sources, message] of both) {
    it(`refuses a secret beside a file with it in ${what}, naming both`, () => {
      assert.throws(() => compileOptions(table, { flags: {}, env: {}, ...sources() }), {
        name: 'InvalidOption',
        message,
      });
    });
  }

  const refused: [string, Record<string, unknown>, RegExp][] = [
    ['a missing option', {}, /--cluster0, --cluster0File or CLUSTERSYNC_CLUSTER0 is required/],
    [
      'a text as a number',
      { cluster0: 'x', share: 'abc' },
      /--share: expected a number, not "abc"/,
    ],
    ['an empty text as a number', { cluster0: 'x', share: ' ' }, /--share: expected a number/],
    [
      'a part of a number where whole ones are expected',
      { cluster0: 'x', port: '1.5' },
      /--port: expected a whole number from 0 to 65535, not "1.5"/,
    ],
    [
      'a number below the least',
      { cluster0: 'x', port: -1 },
      /expected a whole number from 0 to 65535, not -1/,
    ],
    [
      'a number above the largest',
      { cluster0: 'x', port: 65_536 },
      /expected a whole number from 0 to 65535/,
    ],
    [
      'a value outside the choices',
      { cluster0: 'x', logLevel: 'loud' },
      /expected one of debug, info/,
    ],
    [
      'a switch that is neither true nor false',
      { cluster0: 'x', fast: 'yes' },
      /expected true or false/,
    ],
    ['a file that is not there', { cluster0File: '/nowhere/uri' }, /\/nowhere\/uri cannot be read/],
  ];
  for (const [what, flags, message] of refused) {
    it(`refuses ${what}, naming the option`, () => {
      assert.throws(() => compileOptions(table, { flags, env: {} }), {
        name: 'InvalidOption',
        message,
      });
    });
  }

  const unreadable: readonly (readonly [string, string, RegExp])[] = [
    [
      'a line that is no YAML',
      'port: 1\ncluster0: mongo: 4711secret',
      /not valid YAML: \w+ in line 2, column \d+$/,
    ],
    [
      'a word that YAML takes for an alias',
      'cluster0: *4711secret',
      /not valid YAML: it cannot be resolved$/,
    ],
    ['a number', 'cluster0: 4711', /--cluster0: expected a text$/],
    [
      'a number as its file',
      'cluster0: x\ncluster0File: 4711',
      /^cluster0File of --config: expected a text$/,
    ],
  ];
  for (const [what, text, message] of unreadable) {
    it(`does not repeat a secret that is ${what} in the file`, () => {
      const config = write('config.yaml', text);
      assert.throws(
        () => compileOptions(table, { flags: { config }, env: {} }),
        (error: Error) => {
          assert.match(error.message, message);
          assert.equal(error.cause, undefined);
          assert.doesNotMatch(error.message, /4711|secret/);
          return true;
        },
      );
    });
  }

  it('keeps YAML from warning about the file, since the warning would quote the line', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    const config = write('config.yaml', 'cluster0: !secret x\n');
    assert.throws(
      () => compileOptions(table, { flags: { config }, env: {} }),
      /not valid YAML: TAG_RESOLVE_FAILED in line 1/,
    );
    await setImmediate();
    process.off('warning', note);
    assert.deepEqual(warnings, []);
  });

  it('takes the name of the file from the environment, too', () => {
    const optionsOf = (text: string) =>
      compileOptions(table, {
        flags: { cluster0: 'x' },
        env: { CLUSTERSYNC_CONFIG: write('config.yaml', text) },
      });
    assert.equal(optionsOf('port: 1').port, 1);
    assert.throws(() => optionsOf('prot: 1'), {
      name: 'InvalidOption',
      message: /config\.yaml: unknown option prot$/,
    });
  });

  it('refuses an unknown name in the file', () => {
    const config = write('config.yaml', 'prot: 1\n');
    assert.throws(
      () => compileOptions(table, { flags: { config, cluster0: 'x' }, env: {} }),
      /unknown option prot/,
    );
  });

  it('does not repeat a secret beside an unknown name in the file', () => {
    const config = write('config.yaml', 'prot: 1\ncluster0: 4711secret\n');
    assert.throws(
      () => compileOptions(table, { flags: { config }, env: {} }),
      ({ message }: Error) =>
        message.endsWith('unknown option prot') && !/4711|secret/.test(message),
    );
  });
});

describe('environmentName', () => {
  it('is in capitals, with the words apart', () => {
    assert.equal(environmentName('apiTokenFile'), 'CLUSTERSYNC_API_TOKEN_FILE');
    assert.equal(environmentName('cluster0'), 'CLUSTERSYNC_CLUSTER0');
    assert.equal(environmentName('srcURI'), 'CLUSTERSYNC_SRC_URI');
    assert.equal(environmentName('srcURIFile'), 'CLUSTERSYNC_SRC_URI_FILE');
  });
});
