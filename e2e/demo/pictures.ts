// `make pictures`: the recording of `make try`, and screenshots of its dashboard, for README.md. All show one real run.
import { writeFile } from 'node:fs/promises';
import { homedir, hostname, tmpdir, userInfo } from 'node:os';
import { fileURLToPath } from 'node:url';
import {
  drawRecording,
  maxPictureBytes,
  thinned,
  type Frame,
} from '../../docs/pictures/recording.ts';
import { sleep } from '../../service/sleep.ts';
import { TestBrowser, type WatchedPage } from '../ground/browser/browser.ts';
import { CliProcess } from '../ground/cli-process.ts';
import { ReflowingTerminal } from '../ground/reflowing-terminal.ts';
import { typeCommit } from '../ground/type-commit.ts';

const size = { columns: 120, rows: 36 };
const pollMs = 40;
const keyMs = 160;
const signal = AbortSignal.timeout(600_000);

const pictures = new URL('../../docs/pictures/', import.meta.url);
const program = fileURLToPath(new URL('try.ts', import.meta.url));

/** What of this machine must be in no picture. */
const secrets = [
  hostname(),
  userInfo().username,
  homedir(),
  tmpdir(),
  fileURLToPath(new URL('../..', import.meta.url)),
];

function requireNoSecret(text: string): void {
  const line = text.split('\n').find((one) => secrets.some((secret) => one.includes(secret)));
  if (line !== undefined) throw new Error(`a picture would show this machine: ${line}`);
}

/** Notes what the terminal shows, until the command has ended. A frame is what stays unchanged from one poll to the next. */
async function record(cli: CliProcess): Promise<readonly Frame[]> {
  const terminal = new ReflowingTerminal(size.columns);
  terminal.write('$ make try\r\n');
  const startMs = performance.now();
  const frames: Frame[] = [{ atMs: 0, rows: terminal.rows }];
  let written = 0;
  for (let isNew = false, isOver = false; !isOver || isNew;) {
    isOver = cli.hasEnded;
    const shown = (await cli.output()).replaceAll(homedir(), '~');
    if (shown.length > written) {
      terminal.write(shown.slice(written));
      written = shown.length;
      isNew = true;
    } else if (isNew) {
      frames.push({ atMs: performance.now() - startMs, rows: terminal.rows });
      isNew = false;
    }
    await sleep(pollMs, signal);
  }
  return frames;
}

/** Commits as a person does, key by key, when `before` is done. */
async function commit(cli: CliProcess, before: () => Promise<void>): Promise<void> {
  const typing = async (keys: string): Promise<void> => {
    await before();
    for (const key of keys) {
      cli.type(key);
      await sleep(keyMs, signal);
    }
  };
  let typed = Promise.resolve();
  await typeCommit({
    output: async () => await cli.output(),
    get hasEnded() {
      return cli.hasEnded;
    },
    type: (keys) => {
      typed = typing(keys);
    },
  });
  await typed;
}

async function openDashboard(browser: TestBrowser, cli: CliProcess): Promise<WatchedPage[]> {
  await cli.untilSays(/progress page: http:\S+/);
  const [, address = ''] = /progress page: (http:\S+)/.exec(await cli.output()) ?? [];
  const pages: WatchedPage[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    const watched = await browser.open({ width: 1100, height: 850, colorScheme });
    await watched.page.goto(address);
    pages.push(watched);
  }
  return pages;
}

async function takeScreenshots(pages: readonly WatchedPage[]): Promise<void> {
  for (const [index, { page }] of pages.entries()) {
    await page.locator('.title .pill', { hasText: 'Ready to commit' }).waitFor();
    await page.getByText('No differences so far.').waitFor();
    requireNoSecret(await page.evaluate<string>('document.body.innerText'));
    const name = index === 0 ? 'dashboard.png' : 'dashboard-dark.png';
    await page.screenshot({ path: fileURLToPath(new URL(name, pictures)) });
  }
}

/** The recording, with as many frames as there is room for. */
function drawSmall(frames: readonly Frame[]): string {
  for (let leastMs = pollMs; ; leastMs *= 1.3) {
    const svg = drawRecording(thinned(frames, leastMs), size);
    if (Buffer.byteLength(svg) <= maxPictureBytes) return svg;
  }
}

await using browser = await TestBrowser.start();
await using cli = await CliProcess.start([], { hasTerminal: true, program });
cli.resize(size);
const recording = record(cli);
const pages = await openDashboard(browser, cli);
await Promise.all([
  recording,
  commit(cli, async () => {
    await takeScreenshots(pages);
  }),
]);
const { exitCode } = await cli.end();
if (exitCode !== 0) throw new Error(`make try has ended with ${exitCode}: ${await cli.output()}`);
const svg = drawSmall(await recording);
requireNoSecret(svg);
await writeFile(new URL('run.svg', pictures), svg);
