import { harmlessLines } from '../../service/harmless.ts';

/** More than anybody reads in one place. Texts in a status of Kubernetes are at most three times as long. */
const maxTextLength = 10_000;

/**
 * Reads what the server has sent. Removes directional controls from every text: such a character can end the isolation of an
 * element, and reorder what surrounds it. A text too long to be laid out quickly is cut, and ends with the number of
 * characters that were left out.
 */
export function readMessage(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown) =>
    typeof value === 'string' ? shownText(value) : value,
  );
}

function shownText(text: string): string {
  if (text.length <= maxTextLength) return harmlessLines(text);
  const rest = text.length - maxTextLength;
  return `${harmlessLines(text.slice(0, maxTextLength))}… and ${rest} more characters`;
}
