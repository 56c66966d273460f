import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MongoServerError } from 'mongodb';
import { countText } from '../../service/quantities.ts';
import { startReplicaSet, type ReplicaSet } from '../ground/mongod/replica-set.ts';
import type { Side } from '../ground/mongod/server-pair.ts';
import { userWritesBlocked } from '../ground/mongod/users.ts';
import { loadShop } from '../ground/shop/load-shop.ts';
import { startShopWriter, type ShopWriter } from '../ground/shop/shop-writer.ts';
import { compareSides, tableOf, type SideBySide } from './both-sides.ts';
import { Interruption, type DemoOutcome } from './carry-out.ts';
import { migrate, type MigrationEnd } from './migration-command.ts';
import type { Screen } from './screen.ts';
import { settled } from './settled.ts';

/** 112,000 documents, 190 MB: enough to see it move, and few enough to be done in seconds. */
const whole = { scale: 0.5, photos: 2_500 };
const writesPerSecond = 300;

/** The exit code of `clustersync run` when a person has paused it. */
const pausedExitCode = 130;

/** What a first look is made of. */
export interface TryOptions {
  /** How much is moved: 1 for {@link whole}. */
  readonly scale: number;
  /** Whether a person at this terminal commits. */
  readonly isInteractive: boolean;
  /** Where the logs of syncer and verifier are kept if it fails. */
  readonly logFile: string;
}

interface Sides {
  readonly source: ReplicaSet;
  readonly destination: ReplicaSet;
}

/**
 * Migrates a live replica set to another one with `clustersync run`, on real servers, and compares both itself. Always cleans up.
 * @returns `isEqual` only if the command, the comparison, and the numbers of documents of both agree.
 */
export async function runTry(
  screen: Screen,
  options: TryOptions,
  signal: AbortSignal,
): Promise<DemoOutcome> {
  const { scale, isInteractive, logFile } = options;
  await using resources = new AsyncDisposableStack();
  screen.step('starting two MongoDB replica sets on this machine: an old one and a new one');
  const start = async (side: Side, name: string): Promise<ReplicaSet> =>
    resources.use(await startReplicaSet({ side, name, members: 1, signal }));
  const [source, destination] = await settled(start('source', 'old'), start('destination', 'new'));
  screen.step('loading the data of a shop into the old one');
  const documents = await loadShop(source.uri('app'), {
    scale: whole.scale * scale,
    photos: Math.ceil(whole.photos * scale),
    signal,
  });
  const writer = startShopWriter(source.uri('app'), { writesPerSecond, signal });
  const stop = onceStopped(writer);
  resources.defer(async () => {
    // What the work below throws says more.
    await stop().catch(() => undefined);
  });
  screen.step(
    `it has ${countText(documents)} documents, and an application now writes to it ${writesPerSecond} times a second`,
  );
  await mkdir(dirname(logFile), { recursive: true });
  await rm(logFile, { force: true });
  const end = await migrate({
    sourceUri: source.uri('syncer'),
    destinationUri: destination.uri('syncer'),
    isInteractive,
    logFile,
    onStart: (command) => {
      screen.step('from here on you see clustersync move all that while the application writes');
      if (isInteractive) {
        screen.step(
          'when it asks for the commit, the application is stopped for you: type commit and press Enter',
        );
      }
      screen.print(`\n$ ${command}\n`);
    },
    onReady: () => {
      // A failure is reported by the next call.
      stop().catch(() => undefined);
    },
    signal,
  });
  screen.print(`\n${end.summary}`);
  if (isInteractive && end.exitCode === pausedExitCode)
    throw new Interruption('you have paused the migration; the servers are removed now');
  const { writes, isBlocked } = await stop();
  screen.step(
    isBlocked
      ? `the commit blocked the application's writes after ${countText(writes)} of them`
      : `the application was stopped after ${countText(writes)} writes, which the old one has accepted`,
  );
  const isProven = await prove(screen, { source, destination }, end);
  signal.throwIfAborted();
  if (isProven) await rm(logFile, { force: true });
  else screen.print(`the logs of syncer and verifier are in ${logFile}`);
  return { isEqual: isProven, ...(isProven && { lastWords: lastWords(documents, writes) }) };
}

/** Counts and compares both sides, and says whether the command has told the truth. */
async function prove(screen: Screen, sides: Sides, end: MigrationEnd): Promise<boolean> {
  const found = await compareSides(sides.source.uri('admin'), sides.destination.uri('admin'));
  screen.step('counted and hashed the documents on both sides, independently of clustersync:');
  screen.print(`\n${tableOf(found)}\n`);
  return (
    end.exitCode === 0 &&
    end.summary.startsWith('Committed and verified: both sides are equal.\n') &&
    end.summary.includes(countedText(found)) &&
    found.length > 0 &&
    found.every(({ isEqual }) => isEqual)
  );
}

/** As the command's summary says what its verifier has counted. */
function countedText(found: readonly SideBySide[]): string {
  const counted = (side: Side): string =>
    countText(found.reduce((sum, one) => sum + (one[side]?.documents ?? 0), 0));
  return `${counted('source')} on the source, ${counted('destination')} on the destination\n`;
}

/** @returns a function that ends the writer, waits for its last write, and may be called again. */
function onceStopped(
  writer: ShopWriter,
): () => Promise<{ readonly writes: number; readonly isBlocked: boolean }> {
  const stop = async () => {
    try {
      return { writes: await writer.stop(), isBlocked: false };
    } catch (error) {
      const { cause } = error as Error;
      const isBlocked = cause instanceof MongoServerError && cause.code === userWritesBlocked;
      if (!isBlocked) throw error;
      return { writes: writer.writes, isBlocked };
    }
  };
  let stopped: ReturnType<typeof stop> | undefined;
  return async () => await (stopped ??= stop());
}

function lastWords(documents: number, writes: number): string {
  return `
You have seen clustersync move ${countText(documents)} documents from one replica set to another, while an
application wrote to them ${countText(writes)} times, commit, and prove that both are equal.
Next: move your own deployment as README.md says under "Without Kubernetes", or under "Quick start"
on Kubernetes, which \`make demo\` shows here, with tools that it builds first (10 to 30 minutes, once).`;
}
