import { syncOf } from '../../../cli/api/testing/reported.ts';
import { Screen } from '../../../cli/terminal/screen.ts';

// Shows steps and a picture, and asks until there is an answer: a program for `screen.integration.ts`.

const sync = syncOf({
  state: 'RUNNING',
  info: 'change event application',
  canCommit: true,
  lagTimeSeconds: 65,
  collectionCopy: { estimatedTotalBytes: 1000e6, estimatedCopiedBytes: 1000e6 },
  totalEventsApplied: 12_345,
  estimatedSecondsToCatchUp: 30,
  estimatedOplogTimeRemainingSeconds: 7200,
  warnings: [
    'the oplog of the source covers less time than the copy of the largest collection takes',
  ],
});

using screen = new Screen();
screen.step(
  'moving the replica set source at 127.0.0.1:27017 (6.0.27) to the replica set destination',
);
screen.step('copying');
screen.show({
  ...{ sync, collections: undefined, verification: undefined, commitReadiness: undefined },
  ...{ copyBytesPerSecond: null, eventsPerSecond: 120, warning: undefined },
});
await screen.ask('Stop all writes to the source, then type commit:', new AbortController().signal);
