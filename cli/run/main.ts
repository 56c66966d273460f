import type { Connection } from '../../mongo/connection.ts';
import type { Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { optionsDigest } from '../../sync-api/options-digest.ts';
import type { SyncProgress } from '../api/combine.ts';
import { afterCommit, cannotBeUndone, commitOutcome, mayStillCome } from '../api/commit-outcome.ts';
import { Screen } from '../terminal/screen.ts';
import { dryRunText } from './dry-run.ts';
import { runExitCode, type RunOptions } from './options.ts';
import type { Instances } from '../api/instances.ts';
import { Migration } from './migration.ts';
import { beginSync, lookAtSync, requireNotReversed, requireOwnSync } from './own-sync.ts';
import { pause } from './pause.ts';
import { filterEntries, planOf, requireMatches } from './plan.ts';
import { Programs } from './programs.ts';
import { connectionsOf, reachBoth, type Sides } from './reach.ts';
import { startBodyOf } from './start-body.ts';
import type { CheckFinding, StartBody } from '../../sync-api/json.ts';
import { reportCommand, summaryOf, summaryText } from './summary.ts';
import type { RunPage } from './web/run-page.ts';
import { writeOut } from '../../service/terminal.ts';

/** What a run of the command needs. */
interface Run {
  readonly options: RunOptions;
  readonly body: StartBody;
  readonly connections: Sides<Connection>;
  readonly topologies: Sides<Topology>;
  readonly instances: Instances;
  readonly programs: Programs;
  readonly screen: Screen;
  /** Set with --web. */
  readonly page: RunPage | undefined;
  readonly signal: AbortSignal;
}

/**
 * Carries out a whole migration, or continues one that is under way.
 * @returns the exit code.
 * @throws SyncError for errors that the user has to resolve.
 */
export async function runMigration(
  options: RunOptions,
  logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  using screen = new Screen();
  try {
    const body = startBodyOf(options);
    screen.step('inspecting both deployments');
    const connections = connectionsOf(options);
    const topologies = await reachBoth(connections, signal);
    await using programs = await Programs.open({
      options,
      digest: optionsDigest(body),
      isTried: options.dryRun,
      logFile: options.logFile,
      onWarning: (text) => {
        screen.step(text, 'warning');
      },
    });
    await using page = await servePage(options, topologies, screen, logger);
    try {
      const instances = await programs.startSyncers(topologies.source, signal);
      page?.ask(instances);
      const reached = { connections, topologies, instances };
      const run: Run = { options, body, ...reached, programs, screen, page, signal };
      return options.dryRun ? await tryOut(run) : await carryOut(run);
    } catch (error) {
      if (!signal.aborted) page?.fail(error);
      throw error;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return runExitCode.interrupted;
  }
}

/** Serves the page if requested, and prints its address. Its modules are loaded only then. */
async function servePage(
  options: RunOptions,
  { source, destination }: Sides<Topology>,
  screen: Screen,
  logger: Logger,
): Promise<RunPage | undefined> {
  // A dry run ends before anybody could look at the page.
  if (options.web === undefined || options.dryRun) return undefined;
  const { RunPage: page } = await import('./web/run-page.ts');
  const names = { source: deploymentText(source), destination: deploymentText(destination) };
  const commit = options.commitWhenCaughtUp ? 'by itself' : screen.isInteractive ? 'asks' : 'never';
  const about = { ...names, commit, isVerified: options.verify } as const;
  const served = await page.serve(options.web, about, logger);
  screen.step(`progress page: ${served.url}`);
  return served;
}

async function tryOut(run: Run): Promise<number> {
  const { connections, options, body, topologies, signal } = run;
  const found = await lookAtSync(run);
  const plan = await planOf(connections.source, body, signal);
  let refusal: SyncError | undefined;
  try {
    await requireOwnSync(run, found);
    if (found.state === 'IDLE') requireMatches(body, plan.filter);
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    refusal = error;
  }
  const findings = found.state === 'IDLE' ? await findingsOf(run, refusal) : [];
  const { source, destination } = topologies;
  const tried = {
    plan,
    body,
    state: found.state,
    source: deploymentText(source),
    destination: deploymentText(destination),
    syncers: source.kind === 'sharded' ? source.shards.length : 1,
    refusal,
    findings,
  };
  await writeOut(dryRunText(tried, options.output));
  return refusal ? runExitCode.failed : runExitCode.done;
}

/** What the check finds; nothing if the options are refused as they are, which has been said. */
async function findingsOf(
  { instances, body, signal }: Run,
  refusal: SyncError | undefined,
): Promise<readonly CheckFinding[]> {
  try {
    return (await instances.check(body, { measureCopy: false }, signal)).findings;
  } catch (error) {
    if (refusal === undefined || !(error instanceof SyncError)) throw error;
    return [];
  }
}

async function carryOut(run: Run): Promise<number> {
  const { options, instances, programs, screen, page, signal } = run;
  let migration: Migration | undefined;
  try {
    const sync = await begin(run);
    migration = new Migration({ options, programs, instances, screen, page, signal }, sync);
    if (!isOver(sync)) {
      const following = migration;
      const isUnattended = options.commitWhenCaughtUp || !screen.isInteractive;
      await migration.follow(({ commitReadiness, sync: latest }) => {
        const isReady = commitReadiness?.isReady === true || isOver(latest);
        return isReady || (isUnattended && following.differencesRemain);
      });
      if (!isOver(migration.sync)) {
        if (isUnattended && migration.differencesRemain) return await leaveDifferent(run);
        if (!options.commitWhenCaughtUp && !screen.isInteractive) return await leave(run);
        await agree(run, migration);
      }
    }
    if (migration.sync.state === 'RUNNING') {
      requireNotReversed(migration.sync);
      screen.step('committing');
    }
    await migration.commit();
    screen.step('committed', 'good');
    if (options.verify) await migration.untilVerified();
    const summary = summaryOf(
      migration.sync,
      migration.verification,
      run.body.reversible === true,
      new Date(),
    );
    screen[Symbol.dispose]();
    await writeOut(summaryText(summary, options.output));
    return summary.verdict === 'different' ? runExitCode.different : runExitCode.done;
  } catch (error) {
    const sent = migration?.isCommitSent === true ? migration.sync : undefined;
    if (signal.aborted) {
      await pause(run, sent !== undefined);
      return runExitCode.interrupted;
    }
    throw sent ? afterCommit(error, isOver(sent) ? cannotBeUndone : mayStillCome) : error;
  }
}

/** Starts the sync, or continues it. */
async function begin(run: Run): Promise<SyncProgress> {
  const { connections, body, topologies, instances, screen, signal } = run;
  const found = await lookAtSync(run);
  await requireOwnSync(run, found);
  if (found.state === 'IDLE' && body.includeNamespaces)
    requireMatches(body, await filterEntries(connections.source, body, signal));
  const { source, destination } = topologies;
  const what = `${deploymentText(source)} to ${deploymentText(destination)}`;
  const begun = await beginSync(run, found);
  screen.step(
    begun === 'started' ? `moving ${what}` : `continuing to sync ${what}, which is ${found.state}`,
  );
  await instances.command('resume', 'PAUSED', found, signal);
  return await instances.ready(signal);
}

/** At least one instance has the commit: it is carried out once all have it. */
function isOver(sync: SyncProgress): boolean {
  return commitOutcome(sync) === 'taken';
}

/** Finds out whether to commit. */
async function agree({ options, screen }: Run, migration: Migration): Promise<void> {
  if (options.commitWhenCaughtUp) return;
  screen.step('caught up. Stop all application writes to the source before you commit.');
  await migration.askFor('commit', 'Type commit and press Enter to commit, Ctrl-C to pause:');
}

/** Leaves a sync that has caught up if there is nobody to ask. */
async function leave(run: Run): Promise<number> {
  const { screen, instances, page, signal } = run;
  await instances.command('pause', 'RUNNING', await instances.ready(signal), signal);
  page?.stop('caught up and paused: the same command with --commit-when-caught-up commits');
  screen.step(
    'caught up and paused: there is no terminal, and --commit-when-caught-up was not given.',
    'warning',
  );
  screen.step(
    'Stop application writes to the source; then run the same command with --commit-when-caught-up to continue and commit.',
  );
  return runExitCode.notCommitted;
}

/** Leaves a sync whose destination differs: somebody has to decide what to do. */
async function leaveDifferent({ screen, instances, page, signal }: Run): Promise<number> {
  await instances.command('pause', 'RUNNING', await instances.ready(signal), signal);
  const text = 'not committed, and paused: the verification has found differences that remain';
  page?.stop(text);
  screen.step(`${text}. All of them: ${reportCommand}`, 'warning');
  screen.step(
    'Start a syncer with the same connection strings, run clustersync repair, end the syncer, and run the same command again. To commit without comparing, add --no-verify.',
  );
  return runExitCode.differencesRemain;
}

function deploymentText({ kind, setName, host, shards, version }: Topology): string {
  const what =
    kind === 'sharded'
      ? `the sharded cluster of ${shards.length} shards at ${host}`
      : `the replica set ${setName} at ${host}`;
  return `${what} (${version})`;
}
