/*
 * Text from outside that is shown to people: the text of a database, a pod or another program is displayed, and never controls what
 * displays it. A character with another direction would reorder the text around it; a terminal obeys control characters.
 */

/**
 * C0, DEL and C1 controls, ends of lines and paragraphs, characters that change the direction of text, and invisible ones: a
 * character of no width makes two different names look the same.
 */
const directing = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same for a text of several lines: except the ends of its lines, and tabs. */
export const directingInLines = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text of one line without anything that controls a terminal. */
export function harmless(text: string): string {
  return text.replaceAll(directing, '\ufffd');
}

/** The same for several lines, separated by `\n`. */
export function harmlessLines(text: string): string {
  return text.replaceAll(directingInLines, '\ufffd');
}
