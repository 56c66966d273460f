// Records which modules each integration spec reaches, in reach.json: `make mutate-map SPECS='e2e/integration/verifier/*.ts'`.
// By default those that it does not hold yet. Its entries of files that are gone, it forgets.
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onInterruption } from '../runner/interruption.ts';
import { runCommand } from '../runner/run-command.ts';
import { mocha } from '../runner/run-files.ts';
import { okExit } from '../runner/tally.ts';
import { reachFile, readReach, type Recorded } from './reach.ts';

const rooms = /^(?:syncer|verifier|mongo|service|operator)\//;
const limitMs = 30 * 60_000;

/** Runs a spec, and returns what it reached; undefined where it failed: it may have ended early. */
async function record(spec: string, interruption: AbortSignal): Promise<Recorded | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'reach-'));
  try {
    const note = fileURLToPath(new URL('note-reach.ts', import.meta.url));
    const beganAtMs = performance.now();
    const end = await runCommand(
      [
        ...(['env', `REACH_FOLDER=${folder}`, `NODE_OPTIONS=--import=${note}`] as const),
        ...[process.execPath, mocha, '--config', 'e2e/integration.mocharc.json'],
        ...['--reporter', 'dot', spec],
      ],
      AbortSignal.any([interruption, AbortSignal.timeout(limitMs)]),
    );
    const seconds = Math.ceil((performance.now() - beganAtMs) / 1000);
    if (end !== okExit) return undefined;
    const lines = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8').split('\n'),
    );
    return { seconds, modules: [...new Set(lines)].filter((path) => rooms.test(path)).sort() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const interruption = onInterruption();
const all = globSync('e2e/{integration,attack}/**/*.integration.ts').sort();
const given = process.argv.slice(2).flatMap((pattern) => globSync(pattern));
const reach = Object.fromEntries(
  Object.entries(readReach()).filter(([spec]) => all.includes(spec)),
);
const chosen = given.length > 0 ? given : all.filter((spec) => !Object.hasOwn(reach, spec));
for (const spec of chosen) {
  if (interruption.aborted) break;
  const recorded = await record(spec, interruption);
  console.log(
    `${spec}: ${recorded ? `${recorded.modules.length} modules` : 'failed, not recorded'}`,
  );
  if (recorded) reach[spec] = recorded;
  const sorted = Object.entries(reach).sort(([one], [other]) => (one < other ? -1 : 1));
  const lines = sorted.map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  writeFileSync(reachFile, `{\n${lines.join(',\n')}\n}\n`);
}
process.exitCode = interruption.aborted ? 130 : 0;
