import { Command } from 'commander';
import { commitNote, pluginHelp } from '../cli/help.ts';
import {
  clusterOptionTable,
  commitOptionTable,
  listOptionTable,
  logsOptionTable,
  repairOptionTable,
  syncStatusOptionTable,
} from '../cli/kubectl/options.ts';
import { personalCommand, withWriters } from './program-command.ts';

/** The name under which kubectl finds its plugin. */
export const pluginName = 'kubectl-clustersync';

/** The name under which kubectl asks the plugin for completions. */
export const completerName = 'kubectl_complete-clustersync';

/** The commands of the kubectl plugin: the same executable under another name. */
export function kubectlPlugin(version: string): Command {
  const plugin = withWriters(new Command(pluginName))
    .description('Inspects and controls the ClusterSyncs of a Kubernetes cluster.')
    .version(version)
    .addCommand(
      personalCommand({
        name: 'list',
        description: 'List syncs with their verifications',
        options: listOptionTable,
        help: pluginHelp('list --all-namespaces'),
        load: async () => (await import('../cli/kubectl/main.ts')).listSyncs,
      }),
    )
    .addCommand(
      personalCommand({
        name: 'status',
        description: 'Show the state of a sync: instances, coordinator, conditions, verification',
        options: syncStatusOptionTable,
        argument: 'name',
        help: pluginHelp('status shop'),
        load: async () => (await import('../cli/kubectl/main.ts')).showSync,
      }),
    )
    .addCommand(
      personalCommand({
        name: 'watch',
        description: 'Watch the state of a sync until it is committed and verified',
        options: clusterOptionTable,
        argument: 'name',
        help: pluginHelp('watch shop'),
        load: async () => (await import('../cli/kubectl/main.ts')).watchSync,
      }),
    );
  const patches = {
    pause: ['Request a pause of a sync', { state: 'Paused' }],
    resume: ['Resume a paused sync', { state: 'Running' }],
  } as const;
  for (const [name, [description, spec]] of Object.entries(patches)) {
    plugin.addCommand(
      personalCommand({
        name,
        description,
        options: clusterOptionTable,
        argument: 'name',
        help: pluginHelp(`${name} shop`),
        load: async () => (await import('../cli/kubectl/main.ts')).patchSync(spec),
      }),
    );
  }
  return plugin
    .addCommand(
      personalCommand({
        name: 'commit',
        description: 'Request the commit of a sync; cannot be undone',
        options: commitOptionTable,
        argument: 'name',
        help: pluginHelp('commit shop --wait --timeout-seconds 600', commitNote),
        load: async () => (await import('../cli/kubectl/commit.ts')).commitSync,
      }),
    )
    .addCommand(
      personalCommand({
        name: 'reverse',
        description: 'Reverse a committed sync: apply later writes to the old source',
        options: clusterOptionTable,
        argument: 'name',
        help: pluginHelp('reverse shop'),
        load: async () => (await import('../cli/kubectl/main.ts')).reverseSync,
      }),
    )
    .addCommand(
      personalCommand({
        name: 'repair',
        description: 'Repair a sync: start it over, and copy only what differs',
        options: repairOptionTable,
        argument: 'name',
        help: pluginHelp('repair shop'),
        load: async () => (await import('../cli/kubectl/main.ts')).repairSync,
      }),
    )
    .addCommand(
      personalCommand({
        name: 'logs',
        description: 'Show the logs of the syncers and verifiers of a sync',
        options: logsOptionTable,
        argument: 'name',
        help: pluginHelp('logs shop --follow'),
        load: async () => (await import('../cli/kubectl/main.ts')).showLogs,
      }),
    )
    .addCommand(
      personalCommand({
        name: 'diagnose',
        description: 'Print diagnostics for maintainers, without connection strings',
        options: clusterOptionTable,
        argument: 'name',
        help: pluginHelp('diagnose shop > shop.txt'),
        load: async () => (await import('../cli/kubectl/main.ts')).diagnoseSync,
      }),
    );
}
