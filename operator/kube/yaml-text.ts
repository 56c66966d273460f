/**
 * What JSON writes as it is, and a reader of YAML does not: it refuses DEL, C1 controls, the byte order mark, and what is no character,
 * and takes NEL, U+2028 and U+2029 for the end of a line, whose spaces it drops.
 */
const misread = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;
/** An escaped backslash, or half a character as JSON writes it. */
const halves = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

/**
 * JSON of a value that is read as YAML, too: the API server reads what is applied so, and refuses a whole status for one character that
 * a pod or a database has put into a text. Half a character, which YAML cannot say, becomes U+FFFD.
 */
export function yamlText(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(
      misread,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .replaceAll(halves, (found) => (found === '\\\\' ? found : '\\ufffd'));
}
