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

/** The limits of `holdBack`. */
const brakes = [
  'maxReplicationLagSeconds',
  'maxQueuedOperations',
  'maxCacheDirtyPercent',
  'minFreeDiskPercent',
] as const satisfies (keyof NonNullable<Limits['holdBack']> & keyof typeof definitions)[];

type Name = (typeof numbers)[number] | (typeof brakes)[number];

/** `maxChangesPerSecond` -> `limitChangesPerSecond`, `minFreeDiskPercent` -> `holdBackFreeDiskPercent`. */
function flagOf(name: Name): string {
  const isBrake = brakes.some((brake) => brake === name);
  return name.replace(/^(?:max|min)/, isBrake ? 'holdBack' : 'limit');
}

function rowOf(name: Name): OptionRow {
  const { minimum, maximum, 'x-flag': shown } = definitions[name];
  return { type: 'integer', range: [minimum, maximum], ...shown };
}

/** The flags of the limits of a sync. */
export const limitFlags: OptionTable = {
  ...Object.fromEntries([...numbers, ...brakes].map((name) => [flagOf(name), rowOf(name)])),
  limitsFile: {
    type: 'string',
    valueName: 'file',
    description: 'JSON or YAML file with `limits` as in the HTTP API; other flags take precedence',
  },
};

type Given = string | number | boolean | undefined;

/**
 * The limits that the flags ask for; undefined if none was given. The syncer validates them.
 * @throws SyncError InvalidOption for a file that cannot be read.
 */
export function limitsOf(options: Readonly<Record<string, Given>>): Limits | undefined {
  const path = options['limitsFile'];
  const given = givenOf(numbers, options);
  const held = givenOf(brakes, options);
  if (path === undefined && given.length + held.length === 0) return undefined;
  const read = typeof path === 'string' ? readLimits(path) : {};
  const limits = { ...read, ...(Object.fromEntries(given) as Limits) };
  if (held.length === 0) return limits;
  return { ...limits, holdBack: { ...read.holdBack, ...Object.fromEntries(held) } };
}

function givenOf(
  names: readonly Name[],
  options: Readonly<Record<string, Given>>,
): (readonly [Name, Given])[] {
  return names.flatMap((name) => {
    const value = options[flagOf(name)];
    return value === undefined ? [] : [[name, value] as const];
  });
}

/** The limits in a file, which may be copied from a ClusterSync's spec, with their name. */
function readLimits(path: string): Limits {
  const option = '--limits-file';
  const parsed = readYamlFile({ path, option });
  const limits = isMapping(parsed) && 'limits' in parsed ? parsed['limits'] : parsed;
  if (isMapping(limits)) return limits;
  throw new SyncError('InvalidOption', `${option}: ${path} cannot be read: it holds no mapping`);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
