import type { NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import { namespaceFrom } from '../../mongo/namespace.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { kebabCase, type OptionRow, type OptionTable } from '../../service/options.ts';
import { readYamlFile } from '../../service/text-file.ts';
import type { StartBody } from '../../sync-api/json.ts';
import {
  sameAsNone,
  startOptions,
  startOptionSchemas,
  type StartOption,
} from '../../sync-api/start-options.ts';
import { limitsOf } from '../limit-flags.ts';

type Given = string | number | boolean | undefined;

/** How an option of a start is given on the command line. */
interface StartFlag {
  readonly flag: string;
  readonly row: OptionRow;
  readonly read: (given: string) => unknown;
}

/** A filter has a short form of its own. Of another list or mapping, the flag names a file with it. */
function flagOf(option: StartOption): StartFlag {
  const { type, enum: choices, default: filledIn, 'x-flag': shown } = startOptionSchemas[option];
  if (option === 'includeNamespaces' || option === 'excludeNamespaces') {
    const row = { type: 'string', valueName: 'list', ...shown } as const;
    return { flag: option, row, read: (text) => parseNamespaces(kebabCase(option), text) };
  }
  if (type === 'array' || type === 'object') {
    const row = { type: 'string', valueName: 'file', ...shown } as const;
    return { flag: `${option}File`, row, read: (path) => readOption(option, path) };
  }
  const preset = filledIn ?? sameAsNone[option];
  const row = {
    ...{ type, ...shown },
    ...(preset !== undefined && { default: preset }),
    ...(choices && { choices }),
  };
  return { flag: option, row, read: (text) => text };
}

const flags = startOptions.map((option) => ({ option, ...flagOf(option) }));

/** The flags of the options of a start, in the order of its schema. */
export const startFlags: OptionTable = Object.fromEntries(
  flags.map(({ flag, row }) => [flag, row]),
);

/** The start body for the options: the syncer validates its content. @throws SyncError InvalidOption, naming the option. */
export function startBodyOf(options: Readonly<Record<string, Given>>): StartBody {
  const given = flags.flatMap(({ option, flag, read }) => {
    const value = options[flag];
    if (value === undefined || value === sameAsNone[option]) return [];
    return [[option, typeof value === 'string' ? read(value) : value]];
  });
  const limits = limitsOf(options);
  return {
    source: 'cluster0',
    destination: 'cluster1',
    ...(limits && { limits }),
    ...(Object.fromEntries(given) as Pick<StartBody, StartOption>),
  };
}

/**
 * A filter from its text: JSON if it begins with a bracket, otherwise databases and collections separated by commas.
 * Collections of one database become one entry.
 * @throws SyncError InvalidOption, naming the option.
 */
export function parseNamespaces(option: string, text: string): NamespaceFilterEntry[] {
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text) as NamespaceFilterEntry[];
    } catch (error) {
      throw new SyncError('InvalidOption', `--${option}: ${messageOf(error)}`, { cause: error });
    }
  }
  const entries = new Map<string, string[] | undefined>();
  for (const part of text.split(',').map((each) => each.trim())) {
    const { db, coll } = part.includes('.') ? namespaceFrom(part) : { db: part, coll: undefined };
    if (db === '' || coll === '')
      throw new SyncError(
        'InvalidOption',
        `--${option}: expected databases and collections separated by commas, such as shop,depot.orders`,
      );
    const known = entries.get(db);
    if (coll === undefined) entries.set(db, undefined);
    else if (known) known.push(coll);
    else if (!entries.has(db)) entries.set(db, [coll]);
  }
  return Array.from(entries, ([database, collections]) =>
    collections ? { database, collections } : { database },
  );
}

/** The value in a file, which may be copied from a ClusterSync's spec, with its name. */
function readOption(name: StartOption, path: string): unknown {
  const option = `--${kebabCase(`${name}File`)}`;
  const parsed = readYamlFile({ path, option });
  if (typeof parsed !== 'object' || parsed === null)
    throw new SyncError('InvalidOption', `${option}: ${path} cannot be read: it holds no mapping`);
  return name in parsed ? (parsed as Readonly<Record<string, unknown>>)[name] : parsed;
}
