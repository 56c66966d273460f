/** What the help of `clustersync run` says below the options. */
export const runHelp = `\
Examples:
  Say what would be done, and what is in the way:
    $ clustersync run --source-file old.txt --destination-file new.txt --dry-run

  Move everything; ask before the commit:
    $ clustersync run --source-file old.txt --destination-file new.txt

  Move a part, without a terminal, and keep the summary:
    $ export CLUSTERSYNC_SOURCE=mongodb://... CLUSTERSYNC_DESTINATION=mongodb://...
    $ clustersync run --include-namespaces shop,depot.orders --commit-when-caught-up --output json > summary.json

Ctrl-C pauses, and the same command goes on. So it does when the command was killed.
The summary goes to standard output, everything else to standard error.

Exit codes:
  0    committed, and both sides are equal; with --dry-run: nothing is in the way
  1    committed, but the verification has found differences
  2    failed: standard error says why, and what to do
  3    caught up and paused: no terminal to ask at, and no --commit-when-caught-up
  130  ended by Ctrl-C or SIGTERM, and paused`;
