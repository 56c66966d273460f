import assert from 'node:assert/strict';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { CliProcess } from '../ground/cli-process.ts';
import { peakResidentBytes } from '../ground/peak-memory.ts';
import { startSyncerProcess } from '../ground/syncer-process.ts';
import { until } from '../ground/until.ts';
import { VerifierProcess } from '../ground/verifier-process.ts';
import { isLongAttack } from './attack-length.ts';
import { FakeMongod, helloNames } from './fake-mongod.ts';
import { attacks, foreignPassword, type Attack } from './hostile-mongod.ts';

const password = 'pa55-w0rd-of-the-tenant';

/** How much memory a program may have where an attack does not say otherwise. */
const usualMebibytes = 400;

/** How many servers attack at the same time. */
const atOnce = 6;

function uriAt(fake: FakeMongod, { isLogin = true, uriOptions = '' }: Partial<Attack>): string {
  return `mongodb://${isLogin ? `tenant:${password}@` : ''}${fake.address}/?${uriOptions}`;
}

/** The connection strings of two deployments. */
interface Uris {
  readonly source: string;
  readonly destination: string;
}

function assertTellsLittle(said: string): void {
  for (const secret of [password, foreignPassword]) assert.ok(!said.includes(secret), said);
  assert.ok(said.length < 200_000, `${said.length} characters`);
}

function assertBounded(what: string, peakBytes: number, maxMebibytes: number): void {
  const mebibytes = peakBytes / 1024 / 1024;
  assert.ok(mebibytes > 0 && mebibytes < maxMebibytes, `${what} has had ${mebibytes} MiB`);
}

/** How it is told that what a server has sent can be read by nobody, and which server. */
const malformed = /\b127\.0\.0\.1:\d+ has sent /;

/** What a program is expected to bear, and to say. */
type Expected = Pick<Attack, 'isMalformed' | 'maxMebibytes'>;

/** A person has two of them in a dry run. It ends by itself, in a sentence. */
async function dryRun(
  { source, destination }: Uris,
  { isMalformed = false, maxMebibytes = usualMebibytes }: Expected = {},
): Promise<void> {
  const sides = ['--source-file', '{source}', '--destination-file', '{destination}'];
  await using cli = await CliProcess.start(['run', ...sides, '--dry-run'], {
    files: { source, destination },
  });
  let peakBytes = 0;
  const watch = setInterval(() => {
    void peakResidentBytes(cli.pid).then((bytes) => (peakBytes = Math.max(bytes, peakBytes)));
  }, 20);
  try {
    const { exitCode } = await cli.end();
    const said = `${await cli.errors()}${await cli.output()}`;
    assert.equal(exitCode, 2, said);
    assert.match(said, /^(?:clustersync|This migration cannot start): \S.*$/m);
    if (isMalformed) assert.match(said, malformed);
    assertTellsLittle(said);
  } finally {
    clearInterval(watch);
  }
  assertBounded('run', peakBytes, maxMebibytes);
}

interface Served {
  readonly pid: number | undefined;
  readonly url: string;
  log(): Promise<string>;
}

/** A program that serves says by name what is wrong, and lives. */
async function assertLives(
  what: string,
  program: Served,
  maxMebibytes: number,
  error: () => Promise<unknown>,
): Promise<void> {
  let said = '';
  await until(`${what} says what is wrong`, async () => {
    said = String(await error());
    return /^[A-Z][A-Za-z]+: ./.test(said) && !said.startsWith('NotStarted');
  });
  assertTellsLittle(said);
  assert.equal((await fetch(`${program.url}/healthz`)).status, 200);
  assertTellsLittle(await program.log());
  assertBounded(what, await peakResidentBytes(program.pid), maxMebibytes);
}

async function syncer(
  { source, destination }: Uris,
  { isMalformed = false, maxMebibytes = usualMebibytes }: Expected,
): Promise<void> {
  await using program = await startSyncerProcess({
    ...{ cluster0: source, cluster1: destination, until: 'listening' },
    options: { connectionFiles: 'refuse' },
  });
  const error = async (): Promise<unknown> => (await program.getProgress()).body['error'];
  await assertLives('the syncer', program, maxMebibytes, error);
  if (!isMalformed) return;
  const said = String(await error());
  assert.match(said, /^ServerAnswerMalformed: /);
  assert.match(said, malformed);
}

async function verifier(
  { source, destination }: Uris,
  { isMalformed = false, maxMebibytes = usualMebibytes }: Expected,
): Promise<void> {
  await using program = await VerifierProcess.start({
    uris: { srcURI: source, destURI: destination },
    options: { connectionFiles: 'refuse' },
  });
  const error = async (): Promise<unknown> => (await program.get('/api/v1/progress'))['error'];
  await assertLives('the verifier', program, maxMebibytes, error);
  // Its answers say no more than that it is not connected.
  if (isMalformed)
    await until('the log says what was sent', async () => malformed.test(await program.log()));
}

/** Runs the programs with connection strings that lead to servers that attack. */
async function suffer(
  attack: Attack,
  programs: readonly ((uris: Uris, expected: Expected) => Promise<void>)[],
): Promise<void> {
  await using one = await FakeMongod.start(attack.answer);
  await using other = await FakeMongod.start(attack.answer);
  const uris = { source: uriAt(one, attack), destination: uriAt(other, attack) };
  await Promise.all(
    programs.map(async (program) => {
      await program(uris, attack);
    }),
  );
  for (const fake of [one, other]) {
    assert.ok(!fake.received.includes(password), 'the password was sent');
    for (const mechanism of fake.mechanisms) assert.match(mechanism, /^SCRAM-/);
  }
}

describe('a server that is hostile to run, a syncer and a verifier', () => {
  const outcomes = new Map<string, PromiseWithResolvers<undefined>>();
  let all: Promise<void>;

  // Each waits for the most part.
  before(() => {
    for (const what of Object.keys(attacks)) {
      const outcome = Promise.withResolvers<undefined>();
      outcome.promise.catch(() => undefined);
      outcomes.set(what, outcome);
    }
    const entries = [...Object.entries(attacks).entries()];
    all = forEachConcurrently(entries, atOnce, async ([index, [what, attack]]) => {
      const served = [syncer, verifier];
      // The short form gives each attack one of the two, which connect by the same code.
      const inTurn = isLongAttack ? served : served.slice(index % 2, (index % 2) + 1);
      const chosen = attack.isUnseenWhenIdle === true ? [] : inTurn;
      const outcome = outcomes.get(what);
      await suffer(attack, [dryRun, ...chosen]).then(
        () => outcome?.resolve(undefined),
        (error: unknown) => outcome?.reject(error),
      );
    });
  });

  after(async () => {
    await all;
  });

  for (const what of Object.keys(attacks)) {
    it(`neither stops them nor learns a password: ${what}`, async () => {
      await outcomes.get(what)?.promise;
    });
  }
});

describe('a server that names another as its primary', () => {
  /** What a stranger is sent whom a server names. */
  async function namesOf(uriOptions: string): Promise<readonly string[]> {
    await using stranger = await FakeMongod.start(({ name, answer, honest }) => {
      answer(helloNames.includes(name) ? honest : { ok: 0, code: 18, errmsg: 'no' });
    });
    await using fake = await FakeMongod.start(({ name, answer, honest }) => {
      const { address } = stranger;
      if (!helloNames.includes(name)) answer({ ok: 0, code: 18, errmsg: 'no' });
      else answer({ ...honest, hosts: [address], primary: address, me: address });
    });
    const uri = uriAt(fake, { uriOptions });
    await dryRun({ source: uri, destination: uri });
    assert.ok(!stranger.received.includes(password));
    for (const mechanism of stranger.mechanisms) assert.match(mechanism, /^SCRAM-/);
    return stranger.names;
  }

  it('has the stranger asked who it is, and no more than a login by SCRAM sent there', async () => {
    const names = new Set(await namesOf(''));
    assert.ok(names.size > 0);
    for (const name of names)
      assert.ok([...helloNames, 'saslStart', 'endSessions'].includes(name), name);
  });

  it('has nobody called but itself where the connection string says so', async () => {
    assert.deepEqual(await namesOf('directConnection=true'), []);
  });
});
