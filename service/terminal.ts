import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { messageOf, SyncError } from './errors.ts';
import { directingInLines, harmlessLines } from './harmless.ts';

/**
 * The only way to a terminal. The text of a database, a pod or another program is displayed, and never controls the terminal: it
 * could hide lines, forge others, or make the terminal answer as if somebody had typed.
 *
 * An output can be lost: the disk is full, or the reader of the pipe has ended. A command whose result cannot be written to standard
 * output fails. Lost lines of standard error or of a log stop nothing: stopping a migration would help nobody, least of all its data.
 */

// Each write reports its own error. Without a listener here, the stream's would end the process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

/** JSON of the same value in which nothing controls a terminal. @param json - line breaks only between its tokens. */
export function harmlessJson(json: string): string {
  return json.replaceAll(directingInLines, escaped);
}

/** One escape for each UTF-16 code unit. */
function escaped(character: string): string {
  return character
    .split('')
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** XML of the same text in which nothing controls a terminal. */
export function harmlessXml(xml: string): string {
  return xml.replaceAll(
    directingInLines,
    (character) => `&#x${character.codePointAt(0)?.toString(16)};`,
  );
}

/** Writes lines to standard output; resolves when they are written. @throws SyncError OutputLost. */
export async function writeOut(lines: string): Promise<void> {
  await writeDrawn(harmlessLines(lines));
}

/** Writes lines to standard error. If they are lost, that is not reported. */
export function writeError(lines: string): void {
  writeOrLose(process.stderr, harmlessLines(lines));
}

/** Writes a log line, which is {@link harmlessJson}, to standard output. If it is lost, that is not reported. */
export function writeLog(line: string): void {
  writeOrLose(process.stdout, line);
}

/**
 * Writes control sequences to standard output. The text must not contain anything from outside.
 * @throws SyncError OutputLost.
 */
export async function writeDrawn(text: string): Promise<void> {
  try {
    await writeTo(process.stdout, text);
  } catch (cause) {
    throw lost('standard output', cause);
  }
}

function lost(output: string, cause: unknown): SyncError {
  return new SyncError('OutputLost', `${output} takes nothing: ${messageOf(cause)}`, { cause });
}

/** The exit code of a command whose reader has gone: the one that a shell reports for a program that SIGPIPE has ended. */
export const readerGoneExitCode = 141;

/** Whether an output is lost because its reader has ended, as `head` and pagers do: that need not be reported. */
export function isReaderGone(error: unknown): boolean {
  if (!(error instanceof SyncError) || error.name !== 'OutputLost') return false;
  return (error.cause as Partial<NodeJS.ErrnoException> | undefined)?.code === 'EPIPE';
}

/** One of the two outputs of this process. */
type Output = NodeJS.WritableStream & { readonly fd: number };

function writeOrLose(stream: Output, text: string): void {
  writeTo(stream, text).catch(() => undefined);
}

async function writeTo(stream: Output, text: string): Promise<void> {
  if (!(stream instanceof Socket)) {
    writeToFile(stream, Buffer.from(text));
    return;
  }
  await new Promise<void>((resolve, reject) => {
    stream.write(text, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Node.js (24) treats a partial write to a file, such as the last one to a disk that becomes full, as a complete one. */
function writeToFile({ fd }: { readonly fd: number }, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(fd, bytes, written);
}

/** Returns why the last drawing was lost. */
let drawing: Promise<unknown> = Promise.resolve();

/** Where {@link writeError} writes, for programs that draw there. */
export const errorTerminal = {
  get isTerminal(): boolean {
    return process.stderr.isTTY;
  },
  /** Undefined if the terminal does not report it. */
  get columns(): number | undefined {
    return positive(process.stderr.columns);
  },
  get rows(): number | undefined {
    return positive(process.stderr.rows);
  },
  /** Calls the listener whenever the terminal is resized. @returns what ends that. */
  onResize: (listener: () => void): Disposable => {
    process.stderr.on('resize', listener);
    return {
      [Symbol.dispose]: () => {
        process.stderr.off('resize', listener);
      },
    };
  },
  /** Writes control sequences. The text must not contain anything from outside. */
  draw: (text: string): void => {
    drawing = writeTo(process.stderr, text).catch((error: unknown) => error);
  },
  /** For a command that only draws. @throws SyncError OutputLost if the last drawing was lost. */
  requireDrawn: async (): Promise<void> => {
    const error = await drawing;
    if (error !== undefined) throw lost('standard error', error);
  },
};

/** Some terminals report 0. */
function positive(size: number | undefined): number | undefined {
  return size === 0 ? undefined : size;
}

/** Whether standard output is a terminal. */
export function isOutTerminal(): boolean {
  return process.stdout.isTTY;
}
