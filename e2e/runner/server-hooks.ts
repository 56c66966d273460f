import { missingServer } from '../ground/mongod/mongod-process.ts';
import { skipBecause } from './skip.ts';

/** Hooks around tests that start servers: all are skipped, by name, where this machine cannot have a server of `SERVERS`. */
export const mochaHooks: Mocha.RootHookObject = {
  async beforeAll(this: Mocha.Context) {
    const reason = await missingServer();
    if (reason !== undefined) skipBecause(this, reason);
  },
};
