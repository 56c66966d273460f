/**
 * The one way to a terminal. What a database, a pod or another program says is shown, and never directs the terminal: it could
 * hide lines, forge others, or have the terminal answer as if somebody typed.
 */

/** Of a regular expression: C0, DEL and C1 controls, ends of lines and paragraphs, and what changes the direction of text. */
const directing = '\\p{Cc}\\p{Zl}\\p{Zp}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';

const inLine = new RegExp(`[${directing}]`, 'gu');
const inLines = new RegExp(`(?![\\n\\t])[${directing}]`, 'gu');

/** A text of one line in which nothing directs a terminal. */
export function harmless(text: string): string {
  return text.replaceAll(inLine, '\ufffd');
}

/** JSON of the same value in which nothing directs a terminal. @param json - with ends of lines between its parts at most. */
export function harmlessJson(json: string): string {
  return json.replaceAll(inLines, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** XML of the same text in which nothing directs a terminal. */
export function harmlessXml(xml: string): string {
  return xml.replaceAll(inLines, (character) => `&#x${character.charCodeAt(0).toString(16)};`);
}

/** Writes lines to standard output; resolves when they are written. */
export async function writeOut(lines: string): Promise<void> {
  await writeDrawn(lines.replaceAll(inLines, '\ufffd'));
}

/** Writes lines to standard error. */
export function writeError(lines: string): void {
  process.stderr.write(lines.replaceAll(inLines, '\ufffd'));
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
