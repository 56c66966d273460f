/**
 * More levels than any answer has: a document in one may have some two hundred. Recursive functions on a value can handle this
 * many.
 */
const maxLevels = 1_000;

/** The value of a JSON text from outside; undefined if it is invalid, or has too many levels. */
export function jsonValue(text: string): unknown {
  if (levelsOf(text) > maxLevels) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How deep the brackets of a JSON text are nested. For invalid JSON, any number. */
export function levelsOf(text: string): number {
  let deepest = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInString) {
      if (character === '\\') at++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth);
    else if (character === ']' || character === '}') depth--;
  }
  return deepest;
}
