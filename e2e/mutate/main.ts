// Changes one place of the product at a time, and runs the tests that reach it: `make mutate`. What none of them notices is a
// survivor; one that survivors.json does not know makes the command fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { onInterruption } from '../runner/interruption.ts';
import { choosePlaces, nameOf, placesOf, type Place } from './places.ts';
import { readImporters, readReach, unitTestsOf } from './reach.ts';
import { changedLine, knownSurvivor, readSurvivors, type Survivor } from './survivors.ts';
import { copyTree } from './tree-copy.ts';
import { PlaceTrials, type Verdict } from './try-place.ts';
import { tryTests } from './try-tests.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    count: { type: 'string', default: '20' },
    /** Folders, or the beginnings of paths. */
    rooms: { type: 'string', default: 'syncer,verifier,mongo,service,operator' },
    /** One place as it was printed. */
    at: { type: 'string' },
    'unit-only': { type: 'boolean', default: false },
    /** How long the integration specs of one place may take together. */
    minutes: { type: 'string', default: '15' },
  },
});
const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
/** Of all unit tests together. */
const unchangedLimitSeconds = 3600;

/** All places of the rooms, in the order of their paths. */
function allPlaces(rooms: readonly string[]): readonly Place[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  ) as {
    readonly config: unknown;
  };
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const isOfProduct = (file: string): boolean =>
    rooms.some((room) => file.startsWith(`${root}/${room}`)) &&
    !/\.test\.ts$|\.d\.ts$|\/testing\/|\/generated\//.test(file);
  const files = fileNames.filter(isOfProduct).sort();
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  return files.flatMap((file) => {
    const source = program.getSourceFile(file);
    return source ? placesOf(source, file.slice(root.length + 1), checker) : [];
  });
}

function chosenPlaces(): readonly Place[] {
  const { at, seed, count } = values;
  if (at !== undefined) {
    const place = allPlaces([at.slice(0, at.indexOf(':'))]).find((one) => nameOf(one) === at);
    if (place === undefined) throw new Error(`there is nothing to change at ${at}`);
    return [place];
  }
  const all = allPlaces(values.rooms.split(','));
  console.log(`SEED=${seed} COUNT=${count} ROOMS=${values.rooms}: ${all.length} places`);
  return choosePlaces(all, Number(seed), Number(count));
}

/** Tries the chosen places, and prints what became of each. @returns how many survivors are not known. */
async function tryPlaces(interruption: AbortSignal): Promise<number> {
  const places = chosenPlaces();
  const importers = readImporters(root);
  const survivors = readSurvivors();
  await using copy = await copyTree(root);
  console.log(`changes are made in ${copy.path}`);
  // Changed modules are compiled, too: not into the cache of the checkout.
  process.env['NODE_COMPILE_CACHE'] = join(copy.folder, 'compiled');

  const files = [...new Set(places.flatMap(({ path }) => unitTestsOf(path, importers)))];
  const end = { limitSeconds: unchangedLimitSeconds, isBailing: false };
  const { failure, failedFiles, seconds } = await tryTests(
    copy,
    'unit tests',
    files,
    end,
    interruption,
  );
  if (failure !== undefined && failedFiles.length === 0)
    throw new Error(`without any change, unit tests fail: ${failure}`);
  console.log(`${files.length} files of unit tests take ${seconds} s without a change`);
  for (const file of failedFiles)
    console.log(`  left out, since it fails without a change: ${file}`);

  const settings = {
    copy,
    reach: readReach(),
    unitLimitSeconds: 60 + 3 * seconds,
    specSeconds: values['unit-only'] ? 0 : Number(values.minutes) * 60,
  };
  const trials = new PlaceTrials(settings, interruption);
  const counts = { noticed: 0, known: 0, unknown: 0 };
  for (const place of places) {
    const source = readFileSync(join(copy.path, place.path), 'utf8');
    const known = knownSurvivor(survivors, source, place);
    const tests = unitTestsOf(place.path, importers).filter((file) => !failedFiles.includes(file));
    const verdict = await trials.tryPlace(place, tests);
    console.log(rowOf(place, changedLine(source, place), verdict, known));
    counts[verdict.failure !== undefined ? 'noticed' : known ? 'known' : 'unknown']++;
  }
  const { noticed, known, unknown } = counts;
  console.log(`${places.length} changes: ${noticed} noticed, ${known + unknown} survived`);
  console.log(`${unknown} survivors are not in survivors.json`);
  return unknown;
}

/** What is printed of a place. */
function rowOf(
  place: Place,
  { from, to }: Pick<Survivor, 'from' | 'to'>,
  { failure, ran, seconds }: Verdict,
  known: Survivor | undefined,
): string {
  const what = `${nameOf(place)}\n    ${from}\n    ${to}`;
  if (failure === undefined) {
    const why = known ? `; known (${known.reason}): ${known.why}` : '';
    return `SURVIVED ${seconds} s  ${what}\n  ${ran}${why}`;
  }
  const end = known ? '\n  It is in survivors.json: remove it there.' : '';
  return `noticed ${seconds} s  ${what}\n  by ${failure}${end}`;
}

// Make passes its variables on, and random tests would take this seed for theirs.
delete process.env['SEED'];
const interruption = onInterruption();
try {
  const unknown = await tryPlaces(interruption);
  process.exitCode = unknown > 0 && !values['unit-only'] ? 1 : 0;
} catch (error) {
  if (!interruption.aborted) throw error;
  process.exitCode = 130;
}
