import { describeEachWrite } from './each-write-fails.ts';
import { startWatchedPair } from './watched-pair.ts';

describeEachWrite({
  of: 'a sync',
  start: startWatchedPair,
  atLeast: 101,
  perDay: 2,
  commands: [
    ...['insert', 'update', 'delete', 'findAndModify', 'create', 'createIndexes', 'drop'],
    ...['dropIndexes', 'collMod', 'renameCollection', 'setUserWriteBlockMode', 'appendOplogNote'],
  ],
});
