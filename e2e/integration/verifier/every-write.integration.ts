import { describeEachWrite } from '../syncer/each-write-fails.ts';
import { startWatchedVerification } from './watched-verification.ts';

describeEachWrite({
  of: 'a verification',
  start: startWatchedVerification,
  atLeast: 120,
  perDay: 1,
  commands: ['insert', 'update', 'delete', 'findAndModify', 'createIndexes'],
});
