import { readerGoneExitCode } from '../service/terminal.ts';

const environment = `\
Every option can also be given in the environment: --api-token-file is CLUSTERSYNC_API_TOKEN_FILE.`;

const readerGone = `  ${readerGoneExitCode}  the reader of its output has exited, for example head`;

/** What the help of `clustersync run` says below the options. */
export const runHelp = `\
Every option can also be given in the environment (--source-file is CLUSTERSYNC_SOURCE_FILE), or in the
YAML file that --config names.

Examples:
  Show the plan, its size, and all blockers:
    $ clustersync run --source-file old.txt --destination-file new.txt --dry-run

  Move everything; ask before the commit:
    $ clustersync run --source-file old.txt --destination-file new.txt

  Watch it in a browser as well:
    $ clustersync run --source-file old.txt --destination-file new.txt --web

  Move part of it, without a terminal, and keep the summary:
    $ export CLUSTERSYNC_SOURCE=mongodb://... CLUSTERSYNC_DESTINATION=mongodb://...
    $ clustersync run --include-namespaces shop,depot.orders --commit-when-caught-up --output json > summary.json

Ctrl-C pauses. Run the same command again to resume, even if it was killed.
The summary goes to standard output, everything else to standard error.

Exit codes:
  0    committed, and both sides are equal; with --dry-run: the migration can start
  1    committed, but the verification has found differences
  2    failed: standard error says why and what to do
  3    caught up and paused: no terminal for the confirmation, and no --commit-when-caught-up
  4    not committed, and paused: the verification has found differences that remain
  130  interrupted by Ctrl-C or SIGTERM, and paused
${readerGone}`;

/** What the help of `clustersync check` says below the options. */
export const checkHelp = `\
It takes the options of \`clustersync run\`, so the same command line, environment and file work for both. Options for what
follows the start have no effect. The check only reads.

Examples:
  List everything that prevents a migration or may disturb it, each with what to do:
    $ clustersync check --source-file old.txt --destination-file new.txt

  In continuous integration:
    $ clustersync check --config migration.yaml --output sarif > check.sarif

Exit codes:
  0    the migration can start
  1    it cannot start: there is a blocker
  2    nothing was checked: standard error says why and what to do
  130  interrupted by Ctrl-C or SIGTERM
${readerGone}`;

const exitCodes = `\
Exit codes:
  0    done
  2    failed: standard error says why and what to do
  130  interrupted by Ctrl-C or SIGTERM
${readerGone}`;

/** What the help of `clustersync status` says below the options. */
export const statusHelp = `\
${environment}

Examples:
  $ clustersync status
  $ clustersync status --url http://shard0:27182,http://shard1:27182 --api-token-file token --output yaml

${exitCodes}`;

/** What the help of `clustersync progress` says below the options. */
export const progressHelp = `\
${environment}

Examples:
  $ clustersync progress --watch
  $ clustersync progress --watch --output json   # one line of JSON every second

${exitCodes}`;

/** What the help of the commands to a sync says below the options. */
export const commandHelp = {
  pause: helpOf(
    'pause',
    "While the sync is paused, the source's oplog must still hold the position where it stopped.",
  ),
  resume: helpOf('resume', 'The sync resumes where it was paused.'),
  commit: helpOf(
    'commit --wait',
    'Stop all application writes to the source first; writes during the commit may be lost.',
  ),
  reverse: helpOf(
    'reverse --wait',
    'Only for a sync that was started with --reversible or reversible: true. Nothing is copied again; end the reversal with commit.',
  ),
  repair: helpOf(
    'repair --wait',
    'For a sync that has stopped because the oplog no longer holds its position, or whose destination was changed by others. The sync takes a new start time, compares all documents by hashes that the servers compute, copies those that differ, and applies changes again. Documents that the source does not have are deleted from the destination.',
  ),
  limits: helpOf(
    'limits --limit-copy-bytes-per-second 20000000 --limit-changes-per-second 5000',
    'The new limits replace all previous ones, apply to all instances together, and outlive restarts. Nothing is limited once a commit is accepted.',
  ),
  reset: helpOf(
    'reset --destination Clean --wait',
    'A reset cannot be undone: the next start begins from scratch. Clean drops the collections and views that the sync has created, and no others; it is refused once a commit has let users write to the destination.',
  ),
} as const;

/** What the help of `clustersync report` says below the options. */
export const reportHelp = `\
Queries a running verifier. The results are also stored on the destination:
clustersync verifier report reads them there.

${environment}

Example:
  $ clustersync report --url http://localhost:27020 --output json

Exit codes:
  0    equal
  1    different
  2    failed: standard error says why and what to do
  3    no verdict yet
  130  interrupted by Ctrl-C or SIGTERM
${readerGone}`;

function helpOf(example: string, note: string): string {
  return `${note}\n\n${environment}\n\nExample:\n  $ clustersync ${example}\n\n${exitCodes}`;
}

/** What the help of a command of the kubectl plugin says below the options. */
export function pluginHelp(example: string, note?: string): string {
  const about = note === undefined ? '' : `${note}\n\n`;
  return `${about}Example:\n  $ kubectl clustersync ${example}\n\n${exitCodes}`;
}

/** What the help of `kubectl clustersync commit` says first. */
export const commitNote = `\
Stop all application writes to the source first; writes during the commit may be lost.
It shows the lag and the condition ReadyToCommit, and asks for confirmation if there is a terminal.`;
