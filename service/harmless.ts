/*
 * Text from outside that is shown to people: what a database, a pod or another program says is shown, and never directs what shows
 * it. A character of another direction would put what stands around it into another order; a terminal obeys controls.
 */

/**
 * C0, DEL and C1 controls, ends of lines and paragraphs, what changes the direction of text, and what nobody sees: by a character of no
 * width, two names look like one.
 */
const directing = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same in a text of several lines: not the ends of its lines, nor tabs. */
export const directingInLines = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text of one line in which nothing directs a terminal. */
export function harmless(text: string): string {
  return text.replaceAll(directing, '\ufffd');
}

/** The same of several lines, between which there is `\n`. */
export function harmlessLines(text: string): string {
  return text.replaceAll(directingInLines, '\ufffd');
}
