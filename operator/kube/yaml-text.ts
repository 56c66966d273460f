/**
 * Characters that JSON leaves as they are, but YAML parsers do not: they reject DEL, C1 controls, the byte order mark and
 * noncharacters, and treat NEL, U+2028 and U+2029 as line breaks, whose surrounding spaces they drop.
 */
const misread = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;
/** An escaped backslash, or a lone surrogate as JSON writes it. */
const halves = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

/**
 * JSON of a value that can also be read as YAML: this is how the API server reads what is applied, and it rejects a whole status for one
 * character that a pod or a database has put into a text. A lone surrogate, which YAML cannot express, becomes U+FFFD.
 */
export function yamlText(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(
      misread,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .replaceAll(halves, (found) => (found === '\\\\' ? found : '\\ufffd'));
}
