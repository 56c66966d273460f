import { Timestamp } from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { majorityTime } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { findAppliedOps, hidesAppliedOps } from '../../mongo/oplog.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { countOf, durationText } from '../../service/quantities.ts';
import { isWriteBlocked } from '../destination/destination-kind.ts';
import { querySettingsCount } from '../source/query-settings.ts';
import { firstOf, type CheckedSide, type CheckSubject } from './check-subject.ts';
import { note, type Finding } from './finding.ts';
import type { FindingName } from './finding-table.ts';

/** Transactions that are open for longer are reported: by default a server ends them after 60 s. */
const longTransactionSeconds = 30;

/** How far back the oplog is searched for applyOps, and for how long at most. */
const searchedSeconds = 600;
const maxSearchMs = 3_000;

/** How many users or roles are compared. */
const maxAccounts = 10_000;

/** The states of a member that works: primary, secondary, arbiter. */
const healthyStates = new Set([1, 2, 7]);

/** What to do if query settings cannot be listed. */
const listThemYourself =
  'As an administrator, run db.aggregate([{ $querySettings: {} }]) in the database admin of the source, and set what it lists on the destination as well (setQuerySettings).';

/** Transactions that have been open for long on the source. */
export async function checkTransactions({ source, signal }: CheckSubject): Promise<Finding[]> {
  const field = 'transaction.timeOpenMicros';
  const pipeline = [
    { $currentOp: { allUsers: true, idleSessions: true, idleConnections: false } },
    { $match: { [field]: { $gte: longTransactionSeconds * 1_000_000 } } },
    { $project: { openMicros: `$${field}` } },
  ];
  const command = { aggregate: 1, pipeline, cursor: { batchSize: 1_000 } };
  const answer = await runCommand(source.cluster.admin, command, { signal });
  const open = answer
    .field('cursor')
    .field('firstBatch')
    .list()
    .map((row) => row.field('openMicros').number() / 1_000_000);
  if (open.length === 0) return [];
  const message = `${countOf(open.length, 'transaction')} open on the source for more than ${longTransactionSeconds} s, the longest for ${durationText(Math.max(...open))}`;
  return [note('LongTransaction', message, { side: 'source' })];
}

/** What applyOps has recently written to the source: change streams of some servers do not show it. */
export async function checkApplyOps({ source, signal }: CheckSubject): Promise<Finding[]> {
  const { cluster, topology } = source;
  if (topology.kind !== 'replicaSet' || !(await hidesAppliedOps(cluster, signal))) return [];
  const to = await majorityTime(cluster, signal);
  const from = new Timestamp({ t: Math.max(0, to.t - searchedSeconds), i: 0 });
  const names = new Set<string>();
  for await (const { targets } of findAppliedOps(
    cluster,
    { from, to },
    {
      signal,
      maxTimeMs: maxSearchMs,
    },
  ))
    for (const { namespace } of targets) names.add(namespaceText(namespace));
  if (names.size === 0) return [];
  const namespaces = [...names].sort();
  const message = `applyOps has written to ${firstOf(namespaces)} within the last ${durationText(searchedSeconds)}`;
  return [note('ApplyOpsSeen', message, { side: 'source', namespaces })];
}

/** Writes that are blocked on the destination although no sync is under way. */
export async function checkWriteBlocking({
  destination,
  signal,
}: CheckSubject): Promise<Finding[]> {
  const { cluster, topology, option } = destination;
  if (!(await isWriteBlocked(cluster, topology.kind, signal))) return [];
  const message = `ordinary users cannot write to ${option}: writes are blocked (setUserWriteBlockMode)`;
  return [note('WritesAlreadyBlocked', message, { side: 'destination' })];
}

/** Members that do not work. Of a sharded cluster no router shows them. */
export async function checkMembers(side: CheckedSide, signal: AbortSignal): Promise<Finding[]> {
  if (side.topology.kind !== 'replicaSet') return [];
  const status = await runCommand(side.cluster.admin, { replSetGetStatus: 1 }, { signal });
  const members = status.field('members').list();
  const sick = members.filter((member) => !isHealthy(member)).map(memberText);
  if (sick.length === 0) return [];
  const message = `${countOf(sick.length, 'member')} of ${members.length} of ${side.option} not working: ${firstOf(sick)}`;
  return [note('MemberUnhealthy', message, { side: side.side })];
}

function isHealthy(member: CheckedValue): boolean {
  return (
    healthyStates.has(member.field('state').integer()) && member.field('health').number() === 1
  );
}

function memberText(member: CheckedValue): string {
  return `${member.field('name').text()} (${member.field('stateStr').text()})`;
}

/** Query settings, which are not copied. */
export async function checkQuerySettings({ source, signal }: CheckSubject): Promise<Finding[]> {
  try {
    return querySettingsFindings(await querySettingsCount({ deployment: source.cluster, signal }));
  } catch (error) {
    if (codeOf(error) !== serverCode.unauthorized) throw error;
    // No sync needs this right, so none is asked for.
    const message = 'query settings could not be checked: the user of the source may not list them';
    return [{ ...note('NotChecked', message, { side: 'source' }), action: listThemYourself }];
  }
}

/** @param count - of those of the source. */
export function querySettingsFindings(count: number): Finding[] {
  if (count === 0) return [];
  const message = `${countOf(count, 'query setting')} of the source will not be copied`;
  return [note('QuerySettingsNotCopied', message, { side: 'source' })];
}

/** Users and roles of the source that the destination lacks. */
export async function checkAccounts(subject: CheckSubject): Promise<Finding[]> {
  return [
    ...(await missingAccounts(subject, 'system.users', 'user', 'UsersNotCopied')),
    ...(await missingAccounts(subject, 'system.roles', 'role', 'RolesNotCopied')),
  ];
}

async function missingAccounts(
  { source, destination, signal }: CheckSubject,
  collection: string,
  noun: string,
  name: FindingName,
): Promise<Finding[]> {
  const accounts = await accountsOf(source, collection, signal);
  if (accounts.length === 0) return [];
  const there = await thoseThere(destination, collection, signal);
  const missing = accounts.filter((account) => there?.includes(account) !== true);
  if (missing.length === 0) return [];
  const verb = missing.length === 1 ? 'does' : 'do';
  const where = there
    ? `${verb} not exist on the destination`
    : `will not be copied (the user of the destination may not see which exist there)`;
  const message = `${countOf(missing.length, noun)} of the source ${where}: ${firstOf(missing)}`;
  return [note(name, message, { side: 'source' })];
}

/** Undefined if the user may not read them: the role `restore` does not allow it for roles (6.0.5). */
async function thoseThere(
  side: CheckedSide,
  collection: string,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  try {
    return await accountsOf(side, collection, signal);
  } catch (error) {
    if (codeOf(error) === serverCode.unauthorized) return undefined;
    throw error;
  }
}

/** Names as `<database>.<name>`. */
async function accountsOf(
  { cluster }: CheckedSide,
  collection: string,
  signal: AbortSignal,
): Promise<string[]> {
  const find = { find: collection, projection: { _id: 1 }, sort: { _id: 1 }, limit: maxAccounts };
  const command = { ...find, batchSize: maxAccounts, singleBatch: true };
  const answer = await runCommand(cluster.admin, command, { signal });
  const rows = answer.field('cursor').field('firstBatch').list();
  return rows.map((row) => row.field('_id').text());
}
