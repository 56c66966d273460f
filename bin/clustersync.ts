#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { startOperator } from '../operator/main.ts';
import { operatorOptionTable } from '../operator/options.ts';
import { startSyncer } from '../syncer/main.ts';
import { syncerOptionTable } from '../syncer/options.ts';
import { startVerifier } from '../verifier/main.ts';
import { verifierOptionTable } from '../verifier/options.ts';
import { programCommand, reportError } from './program-command.ts';

const program = new Command('clustersync')
  .description('Moves a live MongoDB deployment to another one and proves that nothing was lost.')
  .version(packageVersion())
  .addCommand(
    programCommand({
      name: 'syncer',
      description:
        'the sync tool: copies a cluster to another one and follows its changes until the commit',
      options: syncerOptionTable,
      start: startSyncer,
    }),
  )
  .addCommand(
    programCommand({
      name: 'verifier',
      description: 'the verifier: compares documents, options, views and indexes of two clusters',
      options: verifierOptionTable,
      start: startVerifier,
    }),
  )
  .addCommand(
    programCommand({
      name: 'operator',
      description: 'the Kubernetes operator: carries out ClusterSyncs and SyncVerifications',
      options: operatorOptionTable,
      start: startOperator,
    }),
  );

try {
  await program.parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode = 2;
}

/** package.json stands one folder up in the sources, two in the build. */
function packageVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as {
        version: string;
      };
      return version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}
