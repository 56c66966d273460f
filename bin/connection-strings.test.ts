import assert from 'node:assert/strict';
import { askTopology } from '../mongo/topology.ts';
import { createLogger } from '../service/logger.ts';
import { compileOptions } from '../service/options.ts';
import { createClusters } from '../syncer/store/clusters.ts';
import { syncerOptionTable } from '../syncer/options/syncer-options.ts';
import { openVerifier } from '../verifier/main.ts';
import { verifierOptionTable } from '../verifier/options.ts';
import { writeReport } from '../verifier/report/main.ts';
import { reportOptionTable } from '../verifier/report/options.ts';

const logger = createLogger('test', 'fatal');
const { signal } = new AbortController();

type Flags = Readonly<Record<string, string>>;

/** The first use of the connection strings in each program. */
const programs: Readonly<Record<string, (flags: Flags) => Promise<unknown>>> = {
  syncer: async (flags) => {
    const { cluster0, cluster1 } = createClusters(
      compileOptions(syncerOptionTable, { flags, env: {} }),
    );
    await Promise.all([cluster0[Symbol.asyncDispose](), cluster1[Symbol.asyncDispose]()]);
  },
  verifier: async (flags) => {
    const options = compileOptions(verifierOptionTable, { flags, env: {} });
    const verifier = await openVerifier(options, logger);
    await verifier[Symbol.asyncDispose]();
  },
  'verifier report': async (flags) =>
    await writeReport(compileOptions(reportOptionTable, { flags, env: {} }), logger, signal),
  run: async ({ source = '' }) =>
    await askTopology({ uri: source }, { appName: 'test', refusesFiles: false }, signal),
};

const good = 'mongodb://127.0.0.1:1/';
const all = {
  syncer: { cluster0: good, cluster1: good },
  verifier: { srcURI: good, destURI: good, metaURI: good },
  'verifier report': { metaURI: good },
  run: { source: good },
} as const;

async function assertRefused(program: string, flags: Flags, message: RegExp): Promise<void> {
  const start = programs[program];
  assert.ok(start);
  await assert.rejects(start(flags), { name: 'InvalidOption', message });
}

describe('a connection string', () => {
  for (const program of ['syncer', 'verifier'] as const) {
    it(`that names a file, a service or a proxy is refused by a ${program} in a pod`, async () => {
      const place = { host: '127.0.0.1', port: '0' };
      for (const option of Object.keys(all[program]))
        for (const name of ['tlsCAFile', 'proxyHost', 'authMechanismProperties']) {
          const flags = { ...place, ...all[program], [option]: `${good}?${name}=x` };
          const message = new RegExp(`^--${option}: ${name} is refused in pods`);
          await assertRefused(program, { ...flags, connectionFiles: 'refuse' }, message);
        }
    });
  }

  for (const [program, flags] of Object.entries(all)) {
    it(`with an option that is not on the list is refused: ${program}`, async () => {
      for (const option of Object.keys(flags)) {
        const bad = { ...flags, [option]: `${good}?other=1` };
        await assertRefused(program, bad, /other is not taken in a connection string/);
      }
    });
  }
});
