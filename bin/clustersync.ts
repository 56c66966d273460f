#!/usr/bin/env node
import { basename } from 'node:path';
import { Command } from 'commander';
import { operatorOptionTable } from '../operator/options.ts';
import { syncerOptionTable } from '../syncer/options/syncer-options.ts';
import { verifierOptionTable } from '../verifier/options.ts';
import { reportOptionTable } from '../verifier/report/options.ts';
import { runOptionTable } from '../cli/run/options.ts';
import { checkOptionTable } from '../cli/check/options.ts';
import {
  checkHelp,
  commandHelp,
  progressHelp,
  reportHelp,
  runHelp,
  statusHelp,
} from '../cli/help.ts';
import {
  commandOptionTable,
  progressOptionTable,
  limitsOptionTable,
  repairOptionTable,
  resetOptionTable,
  reportOptionTable as toolReportOptionTable,
  statusOptionTable,
} from '../cli/tool/options.ts';
import {
  oneOffCommand,
  personalCommand,
  programCommand,
  endWith,
  runCommandLine,
  withWriters,
} from './program-command.ts';
import { completerName, kubectlPlugin, pluginName } from './kubectl-plugin.ts';
import { commandsOf, completionCommand } from './completion-command.ts';
import { packageVersion } from '../service/package-version.ts';
import { writeOut } from '../service/terminal.ts';

const clustersync = withWriters(new Command('clustersync'))
  .description('Moves a live MongoDB deployment to another one and proves that nothing was lost.')
  .version(packageVersion())
  .addCommand(
    personalCommand({
      name: 'run',
      description: 'Migrate a deployment from one terminal: copy, apply changes, verify, commit',
      options: runOptionTable,
      help: runHelp,
      load: async () => (await import('../cli/run/main.ts')).runMigration,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'check',
      description: 'List everything that prevents a migration or may disturb it; changes nothing',
      options: checkOptionTable,
      help: checkHelp,
      load: async () => (await import('../cli/check/main.ts')).checkMigration,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'status',
      description: 'Show the state of a sync',
      options: statusOptionTable,
      help: statusHelp,
      load: async () => (await import('../cli/tool/main.ts')).showStatus,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'progress',
      description: 'Show the progress of a sync, once or until it is committed',
      options: progressOptionTable,
      help: progressHelp,
      load: async () => (await import('../cli/tool/main.ts')).showProgress,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'pause',
      description: 'Pause a sync',
      options: statusOptionTable,
      help: commandHelp.pause,
      load: async () => (await import('../cli/tool/main.ts')).sendCommand('pause'),
    }),
  )
  .addCommand(
    personalCommand({
      name: 'resume',
      description: 'Resume a paused sync',
      options: statusOptionTable,
      help: commandHelp.resume,
      load: async () => (await import('../cli/tool/main.ts')).sendCommand('resume'),
    }),
  )
  .addCommand(
    personalCommand({
      name: 'commit',
      description: 'Commit a sync: complete the destination; cannot be undone',
      options: commandOptionTable,
      help: commandHelp.commit,
      load: async () => (await import('../cli/tool/main.ts')).sendCommand('commit'),
    }),
  )
  .addCommand(
    personalCommand({
      name: 'reverse',
      description: 'Reverse a committed sync: apply later writes to the old source',
      options: commandOptionTable,
      help: commandHelp.reverse,
      load: async () => (await import('../cli/tool/main.ts')).sendCommand('reverse'),
    }),
  )
  .addCommand(
    personalCommand({
      name: 'repair',
      description: 'Start a sync over, even a stopped one, and copy only what differs',
      options: repairOptionTable,
      help: commandHelp.repair,
      load: async () => (await import('../cli/tool/main.ts')).repairSync,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'limits',
      description: 'Change the limits of a running sync',
      options: limitsOptionTable,
      help: commandHelp.limits,
      load: async () => (await import('../cli/tool/main.ts')).changeLimits,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'reset',
      description: 'End a sync permanently and remove its state; cannot be undone',
      options: resetOptionTable,
      help: commandHelp.reset,
      load: async () => (await import('../cli/tool/main.ts')).resetSync,
    }),
  )
  .addCommand(
    personalCommand({
      name: 'report',
      description: 'Show the results of a verifier',
      options: toolReportOptionTable,
      help: reportHelp,
      load: async () => (await import('../cli/tool/main.ts')).showReport,
    }),
  )
  .addCommand(
    programCommand({
      name: 'syncer',
      description:
        'Run a syncer: copy a cluster to another one and apply its changes until the commit',
      options: syncerOptionTable,
      load: async () => (await import('../syncer/main.ts')).startSyncer,
    }),
  )
  .addCommand(
    programCommand({
      name: 'verifier',
      description: 'Run a verifier: compare documents, options, views and indexes of two clusters',
      options: verifierOptionTable,
      load: async () => (await import('../verifier/main.ts')).startVerifier,
    }).addCommand(
      oneOffCommand({
        name: 'report',
        description:
          'Report the results of a verification; exits with 0 for equal, 1 for different, 3 if unknown',
        options: reportOptionTable,
        load: async () => (await import('../verifier/report/main.ts')).writeReport,
      }),
    ),
  )
  .addCommand(
    programCommand({
      name: 'operator',
      description:
        'Run the Kubernetes operator, which reconciles ClusterSyncs and SyncVerifications',
      options: operatorOptionTable,
      load: async () => (await import('../operator/main.ts')).startOperator,
    }),
  );

const calledAs = basename(process.argv[1] ?? '');
const isCompleter = calledAs.startsWith(completerName);
const isPlugin = isCompleter || calledAs.startsWith(pluginName);
const program = isPlugin ? kubectlPlugin(packageVersion()) : clustersync;
program.addCommand(completionCommand(program));

if (isCompleter) {
  try {
    const { kubectlCompletion } = await import('../cli/kubectl/complete.ts');
    await writeOut(await kubectlCompletion(commandsOf(program), process.argv.slice(2)));
  } catch (error) {
    endWith(error);
  }
} else {
  await runCommandLine(program);
}
