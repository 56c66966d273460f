// Starts a replica set, says so, and waits for its own end: a test process that crashes.
import { startReplicaSet } from './replica-set.ts';

await startReplicaSet({ members: 1 });
console.log('ready');
setInterval(() => undefined, 60_000);
