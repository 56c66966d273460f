// `make pictures`: the recording of `make try`, and screenshots of its dashboard, for README.md. All show one real run.
import { writeFile } from 'node:fs/promises';
import { homedir, hostname, tmpdir, userInfo } from 'node:os';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
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

const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** What of this machine must be in no picture. */
const secrets = [hostname(), userInfo().username, tmpdir()];

/** What a terminal or a page shows, with the paths that it may show as a person would write them. @throws if more of this machine is in it. */
function publicText(text: string): string {
  const shown = text.replaceAll(checkout, '.').replaceAll(homedir(), '~');
  const words = stripVTControlCharacters(shown).split(/[^\w./~-]+/);
  const found = words.find((word) =>
    secrets.some((secret) => word === secret || word.startsWith(`${secret}/`)),
  );
  if (found !== undefined) throw new Error(`a picture would show this machine: ${found}`);
  return shown;
}

/** Notes what the terminal shows, until the command has ended. A frame is what stays unchanged from one poll to the next. */
async function record(cli: CliProcess): Promise<readonly Frame[]> {
  const terminal = new ReflowingTerminal(size.columns);
  terminal.write('$ make try\r\n');
  const startMs = performance.now();
  const frames: Frame[] = [{ atMs: 0, rows: terminal.rows }];
  let [seen, written] = ['', 0];
  for (let isNew = false, isOver = false; !isOver || isNew;) {
    isOver = cli.hasEnded;
    const output = await cli.output();
    if (output !== seen) {
      // It may end within a character, or a path.
      seen = output;
      isNew = true;
    } else if (isNew) {
      const shown = publicText(output);
      terminal.write(shown.slice(written));
      written = shown.length;
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
    const watched = await browser.open({ width: 1100, height: 850, colorScheme, timezone: 'UTC' });
    await watched.page.goto(address);
    pages.push(watched);
  }
  return pages;
}

/** @returns the screenshots by their names. */
async function takeScreenshots(pages: readonly WatchedPage[]): Promise<Map<string, Buffer>> {
  const taken = new Map<string, Buffer>();
  for (const [index, { page }] of pages.entries()) {
    await page.locator('.title .pill', { hasText: 'Ready to commit' }).waitFor();
    await page.getByText('No differences so far.').waitFor();
    publicText(await page.evaluate<string>('document.body.innerText'));
    const name = index === 0 ? 'dashboard.png' : 'dashboard-dark.png';
    taken.set(name, await page.screenshot());
  }
  return taken;
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
const taken = new Map<string, Buffer | string>();
await Promise.all([
  recording,
  commit(cli, async () => {
    for (const [name, picture] of await takeScreenshots(pages)) taken.set(name, picture);
  }),
]);
const { exitCode } = await cli.end();
if (exitCode !== 0) throw new Error(`make try has ended with ${exitCode}: ${await cli.output()}`);
taken.set('run.svg', drawSmall(await recording));
for (const [name, picture] of taken)
  if (Buffer.byteLength(picture) > maxPictureBytes) throw new Error(`${name} is too large`);
for (const [name, picture] of taken) await writeFile(new URL(name, pictures), picture);
