import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { CheckAnswer } from '../../sync-api/json.ts';
import { adviseOnIndexes, checkCapacity } from './check-capacity.ts';
import {
  checkDatabaseNames,
  checkFilterEntries,
  checkIndexes,
  checkOtherData,
  checkPresentData,
  checkStoredJavaScript,
  checkViews,
} from './check-catalog.ts';
import { grantCommand } from './check-privileges.ts';
import {
  checkAccounts,
  checkApplyOps,
  checkMembers,
  checkQuerySettings,
  checkTransactions,
  checkWriteBlocking,
} from './check-servers.ts';
import { adviseOnSharding } from './check-sharding.ts';
import type { CheckedSide, CheckSubject } from './check-subject.ts';
import { adviseOnMerging, checkDuplicateIds } from './check-merging.ts';
import { checkZones } from './check-zones.ts';
import { answerOf, note, type Blocker, type Finding } from './finding.ts';
import { measureCopy, type CopySpeed } from './measure-copy.ts';
import { findBlockers } from './preflight.ts';

/** Something to look at that prevents no start. */
interface Look<T> {
  /** For a person, if it cannot be looked at. */
  readonly what: string;
  /** The side that is queried. */
  readonly side: CheckedSide['side'];
  readonly run: (subject: CheckSubject) => Promise<T>;
}

type Advice = Look<readonly Finding[]>;

/** How much a check does. */
export interface CheckSettings {
  /** Whether to measure the speed of the copy, which writes to the destination: see {@link measureCopy}. */
  readonly measuresCopy: boolean;
}

const membersOf = (side: CheckedSide['side']): Advice => ({
  what: `the members of the ${side}`,
  side,
  run: async (subject) => await checkMembers(subject[side], subject.signal),
});

const advices: readonly Advice[] = [
  { what: 'the indexes', side: 'source', run: checkIndexes },
  { what: 'when indexes are built', side: 'source', run: adviseOnIndexes },
  { what: 'the collections to shard', side: 'source', run: adviseOnSharding },
  { what: 'the zones', side: 'source', run: checkZones },
  { what: 'what a replica set does not have', side: 'source', run: adviseOnMerging },
  { what: 'the ids on different shards', side: 'source', run: checkDuplicateIds },
  { what: 'the names of databases', side: 'destination', run: checkDatabaseNames },
  { what: 'writes by applyOps', side: 'source', run: checkApplyOps },
  { what: 'data that is not synced', side: 'destination', run: checkOtherData },
  { what: 'the data that is there already', side: 'destination', run: checkPresentData },
  { what: 'write blocking', side: 'destination', run: checkWriteBlocking },
  membersOf('source'),
  membersOf('destination'),
  { what: 'what the filter matches', side: 'source', run: checkFilterEntries },
  { what: 'the views', side: 'source', run: checkViews },
  { what: 'open transactions', side: 'source', run: checkTransactions },
  { what: 'users and roles', side: 'source', run: checkAccounts },
  { what: 'stored JavaScript', side: 'source', run: checkStoredJavaScript },
  { what: 'query settings', side: 'source', run: checkQuerySettings },
];

/**
 * Everything about a start that a person should know before it: all that prevents it, and all that may disturb the sync. It
 * reads only, unless the speed of the copy is to be measured. A check that cannot be carried out is a finding, and prevents none
 * of the others.
 */
export async function checkEverything(
  subject: CheckSubject,
  { measuresCopy }: CheckSettings,
  logger: Logger,
): Promise<CheckAnswer> {
  const blockers = await findBlockers(subject);
  const findings: Finding[] = [];
  for (const found of blockers) findings.push(await withCommand(subject, found));
  const told = new Set(blockers.map(({ error }) => error.message));
  const look = async <T>({ what, side, run }: Look<T>): Promise<T | undefined> => {
    try {
      return await run(subject);
    } catch (error) {
      subject.signal.throwIfAborted();
      const reason = messageOf(error);
      logger.debug({ what, reason }, 'not checked');
      if (!told.has(reason)) findings.push(await notChecked(subject, { what, side, error }));
      return undefined;
    }
  };
  const report = (finding: Finding): void => {
    findings.push(finding);
  };
  const speed = measuresCopy ? await look(measuring(blockers, report)) : undefined;
  const run: Advice['run'] = async () => await checkCapacity(subject, speed);
  const capacity: Advice = { what: 'oplog and disks', side: 'source', run };
  for (const advice of [capacity, ...advices]) findings.push(...((await look(advice)) ?? []));
  return answerOf(findings);
}

/** Nothing is written to a destination that no sync may write to. */
function measuring(
  blockers: readonly Blocker[],
  report: (finding: Finding) => void,
): Look<CopySpeed | undefined> {
  return {
    what: 'the speed of the copy',
    side: 'destination',
    run: async (subject) => {
      if (blockers.length > 0) throw new Error('nothing is written while a start would be refused');
      return await measureCopy(subject, report);
    },
  };
}

/** A blocker, with the exact command that grants what is missing. */
async function withCommand(subject: CheckSubject, found: Blocker): Promise<Blocker> {
  if (found.error.name !== 'MissingPrivileges' || !found.side) return found;
  const action = await grantAction(subject, found.side);
  return action === undefined ? found : { ...found, action };
}

async function notChecked(
  subject: CheckSubject,
  { what, side, error }: { what: string; side: CheckedSide['side']; error: unknown },
): Promise<Finding> {
  const found = note('NotChecked', `${what} could not be checked: ${reasonOf(error)}`, { side });
  if (codeOf(error) !== serverCode.unauthorized) return found;
  const action = await grantAction(subject, side);
  return action === undefined ? found : { ...found, action };
}

/** A server quotes the whole command that it does not allow. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(
    /^(not authorized on [^\s{]+ to execute command) \{ (\w+).*/s,
    '$1 $2',
  );
}

/** Undefined if no command can be given. */
async function grantAction(
  subject: CheckSubject,
  side: CheckedSide['side'],
): Promise<string | undefined> {
  const { options, signal } = subject;
  const { cluster } = subject[side];
  try {
    const command = await grantCommand({ side, cluster, options }, signal);
    return command && `Run in mongosh, connected to the ${side} as an administrator: ${command}`;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
