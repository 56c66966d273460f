import type { Deployment } from '../../mongo/deployment.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { StartOptions } from '../options/command-bodies.ts';

/** Servers before 8.0 do not know the stage that lists query settings, and later ones refuse it while they have an older FCV. */
const withoutQuerySettings: readonly (number | undefined)[] = [
  serverCode.unknownStage,
  serverCode.queryFeatureNotAllowed,
];

/** What counting query settings needs. */
export interface CountedSettings {
  readonly deployment: Pick<Deployment, 'raw'>;
  readonly signal: AbortSignal;
}

/** What a warning of query settings needs. */
export interface QuerySettingsContext extends CountedSettings {
  readonly options: Pick<StartOptions, 'source' | 'destination'>;
  readonly logger: Logger;
  /** Adds a warning to the progress. */
  readonly warn: (warning: string) => Promise<void>;
}

/**
 * Warns of the query settings of the source, which servers have from 8.0 on: they belong to the whole deployment, and are not
 * copied (manual: reference/command/setQuerySettings). A user who may not list them (`querySettings` on the cluster) is not warned:
 * the log says so.
 * @param countOf - counts them.
 */
export async function warnOfQuerySettings(
  context: QuerySettingsContext,
  countOf: (counted: CountedSettings) => Promise<number> = querySettingsCount,
): Promise<void> {
  const { options, logger, warn } = context;
  try {
    const count = await countOf(context);
    if (count === 0) return;
    await warn(
      `${options.source} has query settings (${count}), which are not copied: set them on ${options.destination} as well ($querySettings lists them)`,
    );
  } catch (error) {
    if (isTransient(error) || codeOf(error) === undefined) throw error;
    logger.info({ reason: messageOf(error) }, 'query settings of the source were not read');
  }
}

/** How many query settings a deployment has. */
export async function querySettingsCount({ deployment, signal }: CountedSettings): Promise<number> {
  const aggregate = { aggregate: 1, pipeline: [{ $querySettings: {} }], cursor: {} };
  try {
    await using cursor = await RawCursor.open(deployment.raw, 'admin', aggregate, { signal });
    let count = 0;
    for await (const { documents } of cursor.batches()) count += documents.length;
    return count;
  } catch (error) {
    if (withoutQuerySettings.includes(codeOf(error))) return 0;
    throw error;
  }
}
