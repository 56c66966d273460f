import { describeEachWrite } from '../syncer/each-write-fails.ts';
import { startWatchedLifeCycle } from './watched-life-cycle.ts';

describeEachWrite({
  of: 'an operator',
  start: startWatchedLifeCycle,
  atLeast: 30,
  perDay: 1,
  commands: ['POST', 'PUT', 'PATCH', 'DELETE'],
});
