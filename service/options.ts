import { SyncError } from './errors.ts';
import { readTextFile, readYamlFile } from './text-file.ts';

/** One option of a program: the same name as a flag (`--name`), in the configuration file and, in capitals, in the environment. */
export interface OptionRow {
  readonly description: string;
  readonly type: 'string' | 'number' | 'integer' | 'boolean';
  /** Another spelling of the flag, of one letter; only in commands for people. */
  readonly short?: string;
  /** Shown in the help instead of the value. */
  readonly valueName?: string;
  readonly default?: string | number | boolean;
  readonly required?: boolean;
  /** The value of the flag if it is given without one; only in commands for people. */
  readonly preset?: string | number;
  readonly choices?: readonly string[];
  /** The smallest and the largest allowed number. */
  readonly range?: readonly [number, number];
  /** A secret may also be read from a file: `--nameFile`. */
  readonly secret?: boolean;
}

/** All options of a program. */
export type OptionTable = Readonly<Record<string, OptionRow>>;

/** Names the file of {@link OptionSources}. */
export const configOption = {
  config: { type: 'string', valueName: 'file', description: 'YAML file with options' },
} as const satisfies OptionTable;

interface ValueTypes {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
}

type ValueOf<R extends OptionRow> = R['choices'] extends readonly (infer C)[]
  ? C
  : ValueTypes[R['type']];

type IsAlwaysThere<R extends OptionRow> = R extends
  { readonly required: true } | { readonly default: unknown }
  ? true
  : false;

/** The options of a table, compiled: a value for each; undefined where there is neither a value nor a default. */
export type Options<T extends OptionTable> = {
  readonly [K in keyof T]: IsAlwaysThere<T[K]> extends true
    ? ValueOf<T[K]>
    : ValueOf<T[K]> | undefined;
};

/** Sources of option values, strongest first: flags, environment, the file that `--config` names. */
export interface OptionSources {
  /** How a flag is spelt, for errors; by default like the option. */
  readonly spell?: (option: string) => string;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The environment variable of an option: `cluster0` -> `CLUSTERSYNC_CLUSTER0`, `apiTokenFile` -> `CLUSTERSYNC_API_TOKEN_FILE`. */
export function environmentName(option: string): string {
  return `CLUSTERSYNC_${option.replaceAll(/(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])/g, (c) => `_${c}`).toUpperCase()}`;
}

/** An option in the spelling of programs for people: `maxLagSeconds` -> `max-lag-seconds`. */
export function kebabCase(option: string): string {
  return option.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}

/** The flag of an option in a command for people; for a boolean, the flag that changes it. */
export function personalFlag(name: string, row: OptionRow): string {
  return `--${row.type === 'boolean' && row.default === true ? 'no-' : ''}${kebabCase(name)}`;
}

/** All spellings of the flag, as a help shows them. */
export function personalSpellings(name: string, row: OptionRow): string {
  const flag = personalFlag(name, row);
  return row.short === undefined ? flag : `-${row.short}, ${flag}`;
}

/** Every name under which a value of the table may be given: its own, and `<name>File` for secrets. */
export function optionNames(table: OptionTable): string[] {
  return Object.entries(table).flatMap(([name, row]) =>
    row.secret ? [name, `${name}File`] : [name],
  );
}

/**
 * Compiles the options of a program from all their sources.
 * @throws SyncError InvalidOption, naming the option: unknown in the file, of a wrong type, missing, or beside a file with it.
 */
export function compileOptions<T extends OptionTable>(
  table: T,
  sources: OptionSources,
): Options<T> {
  const names = new Set(optionNames(table));
  const { spell = (option: string) => option } = sources;
  const file = readConfigFile(sources, names);
  const strongestFirst: readonly Source[] = [
    { given: (name) => sources.flags[name], called: (name) => `--${spell(name)}` },
    { given: (name) => sources.env[environmentName(name)], called: environmentName },
    { given: (name) => file[name], called: (name) => `${name} of --config` },
  ];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table)) {
    const value = valueOf(name, row, strongestFirst, spell) ?? row.default;
    if (value === undefined) {
      if (row.required) {
        const also = row.secret ? `, --${spell(`${name}File`)}` : '';
        throw new SyncError(
          'InvalidOption',
          `--${spell(name)}${also} or ${environmentName(name)} is required: ${row.description}`,
        );
      }
      values[name] = undefined;
      continue;
    }
    values[name] = typed(spell(name), row, value);
  }
  return Object.freeze(values) as Options<T>;
}

function readConfigFile(
  sources: OptionSources,
  names: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const path = sources.flags['config'] ?? sources.env[environmentName('config')];
  if (typeof path !== 'string') return {};
  const parsed = readYamlFile({ path, option: '--config' });
  if (parsed === null || parsed === undefined) return {};
  if (typeof parsed !== 'object' || Array.isArray(parsed)) {
    throw new SyncError(
      'InvalidOption',
      `--config ${path}: expected a mapping of option names to values`,
    );
  }
  const unknownName = Object.keys(parsed).find((name) => !names.has(name));
  if (unknownName !== undefined) {
    throw new SyncError('InvalidOption', `--config ${path}: unknown option ${unknownName}`);
  }
  return parsed as Record<string, unknown>;
}

/** One of {@link OptionSources}. */
interface Source {
  readonly given: (option: string) => unknown;
  /** How an option of it is called, for errors. */
  readonly called: (option: string) => string;
}

/** What the strongest source gives that gives any: a value or, for a secret, the file with it. */
function valueOf(
  name: string,
  row: OptionRow,
  strongestFirst: readonly Source[],
  spell: (option: string) => string,
): unknown {
  const fileName = `${name}File`;
  for (const { given, called } of strongestFirst) {
    const value = given(name) ?? undefined;
    const path = (row.secret ? given(fileName) : undefined) ?? undefined;
    if (path !== undefined) {
      if (typeof path !== 'string')
        throw new SyncError('InvalidOption', `${called(fileName)}: expected a text`);
      if (value === undefined) return readTextFile({ path, option: `--${spell(fileName)}` }).trim();
      const problem = `${called(name)} and ${called(fileName)} are mutually exclusive`;
      throw new SyncError('InvalidOption', problem);
    }
    if (value !== undefined) return value;
  }
  return undefined;
}

function typed(flag: string, row: OptionRow, value: unknown): string | number | boolean {
  const wrong = (expected: string): SyncError =>
    new SyncError(
      'InvalidOption',
      `--${flag}: expected ${expected}${row.secret ? '' : `, not ${JSON.stringify(value)}`}`,
    );
  switch (row.type) {
    case 'number':
    case 'integer': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
      const [least, most] = row.range ?? [-Infinity, Infinity];
      const isOfType = row.type === 'integer' ? Number.isInteger(number) : Number.isFinite(number);
      if (typeof number !== 'number' || !isOfType || number < least || number > most) {
        const kind = row.type === 'integer' ? 'a whole number' : 'a number';
        throw wrong(row.range ? `${kind} from ${least} to ${most}` : kind);
      }
      return number;
    }
    case 'boolean': {
      if (value === true || value === 'true') return true;
      if (value === false || value === 'false') return false;
      throw wrong('true or false');
    }
    case 'string': {
      if (typeof value !== 'string') throw wrong('a text');
      if (row.choices && !row.choices.includes(value))
        throw wrong(`one of ${row.choices.join(', ')}`);
      return value;
    }
  }
}
