import { directingInLines, harmlessLines } from './harmless.ts';

/**
 * The one way to a terminal. What a database, a pod or another program says is shown, and never directs the terminal: it could
 * hide lines, forge others, or have the terminal answer as if somebody typed.
 */

/** JSON of the same value in which nothing directs a terminal. @param json - with ends of lines between its parts at most. */
export function harmlessJson(json: string): string {
  return json.replaceAll(directingInLines, escaped);
}

/** One escape for each half of a character that has two. */
function escaped(character: string): string {
  return character
    .split('')
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** XML of the same text in which nothing directs a terminal. */
export function harmlessXml(xml: string): string {
  return xml.replaceAll(
    directingInLines,
    (character) => `&#x${character.codePointAt(0)?.toString(16)};`,
  );
}

/** Writes lines to standard output; resolves when they are written. */
export async function writeOut(lines: string): Promise<void> {
  await writeDrawn(harmlessLines(lines));
}

/** Writes lines to standard error. */
export function writeError(lines: string): void {
  process.stderr.write(harmlessLines(lines));
}

/** Writes a line of a log, which is {@link harmlessJson}, to standard output. */
export function writeLog(line: string): void {
  process.stdout.write(line);
}

/** Writes what directs the terminal on purpose, to standard output. Nothing from outside may be in it. */
export async function writeDrawn(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Where {@link writeError} writes, as far as somebody draws there. */
export const errorTerminal = {
  get isTerminal(): boolean {
    return process.stderr.isTTY;
  },
  /** Undefined where it does not say. */
  get columns(): number | undefined {
    return positive(process.stderr.columns);
  },
  get rows(): number | undefined {
    return positive(process.stderr.rows);
  },
  /** Writes what directs the terminal on purpose. Nothing from outside may be in it. */
  draw: (text: string): void => {
    process.stderr.write(text);
  },
};

/** Some terminals say 0. */
function positive(size: number | undefined): number | undefined {
  return size === 0 ? undefined : size;
}

/** Whether standard output is a terminal. */
export function isOutTerminal(): boolean {
  return process.stdout.isTTY;
}

/** Has standard output lose what nobody reads any more. */
export function ignoreLostOutput(): void {
  process.stdout.on('error', () => undefined);
}
