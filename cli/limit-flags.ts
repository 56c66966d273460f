import { SyncError } from '../service/errors.ts';
import type { OptionRow, OptionTable } from '../service/options.ts';
import { readYamlFile } from '../service/text-file.ts';
import type { Limits } from '../sync-api/json.ts';
import schema from '../sync-api/start-body.schema.json' with { type: 'json' };

const { definitions } = schema;

/** The limits that are a number: the others are given in a file. */
const numbers = [
  'maxCopyBytesPerSecond',
  'maxCopyDocumentsPerSecond',
  'maxChangesPerSecond',
  'maxConcurrentBatches',
] as const satisfies (keyof Limits & keyof typeof definitions)[];

/** `maxChangesPerSecond` -> `limitChangesPerSecond`. */
function flagOf(name: (typeof numbers)[number]): string {
  return name.replace(/^max/, 'limit');
}

function rowOf(name: (typeof numbers)[number]): OptionRow {
  const { minimum, maximum, 'x-flag': shown } = definitions[name];
  return { type: 'integer', range: [minimum, maximum], ...shown };
}

/** The flags of the limits of a sync. */
export const limitFlags: OptionTable = {
  ...Object.fromEntries(numbers.map((name) => [flagOf(name), rowOf(name)])),
  limitsFile: {
    type: 'string',
    valueName: 'file',
    description: 'JSON or YAML file with `limits` as in the HTTP API; other flags come before it',
  },
};

type Given = string | number | boolean | undefined;

/**
 * The limits that the flags ask for; undefined if none was given. The syncer validates them.
 * @throws SyncError InvalidOption for a file that cannot be read.
 */
export function limitsOf(options: Readonly<Record<string, Given>>): Limits | undefined {
  const path = options['limitsFile'];
  const given = numbers.flatMap((name) => {
    const value = options[flagOf(name)];
    return value === undefined ? [] : [[name, value] as const];
  });
  if (path === undefined && given.length === 0) return undefined;
  const read = typeof path === 'string' ? readLimits(path) : {};
  return { ...read, ...(Object.fromEntries(given) as Limits) };
}

/** The limits in a file, which may be copied from a ClusterSync's spec, with their name. */
function readLimits(path: string): Limits {
  const option = '--limits-file';
  const parsed = readYamlFile({ path, option });
  const limits = isMapping(parsed) && 'limits' in parsed ? parsed['limits'] : parsed;
  if (isMapping(limits)) return limits as Limits;
  throw new SyncError('InvalidOption', `${option}: ${path} cannot be read: it holds no mapping`);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
