import { harmlessLines } from '../../service/harmless.ts';

/** More than anybody reads in one place. What is told in a status of Kubernetes is at most three times as long. */
const maxTextLength = 10_000;

/**
 * Reads what the server has sent. In no text of it is left what would direct the page: a character can end the isolation of an
 * element, and have what stands around it in another order. Of a text that is too long to be laid out in a moment the first part is left,
 * with the number of characters that follow.
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
