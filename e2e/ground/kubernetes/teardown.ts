import { takeDown } from './cluster.ts';

/** Takes the cluster down after the last test, unless E2E_KEEP_CLUSTER is set. */
export const mochaHooks: Mocha.RootHookObject = {
  async afterAll(this: Mocha.Context) {
    this.timeout(150_000);
    if (process.env['E2E_KEEP_CLUSTER'] === undefined) await takeDown();
  },
};
