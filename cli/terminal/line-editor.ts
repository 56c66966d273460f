/** A line that is being typed. */
export interface TypedLine {
  readonly text: string;
  /** Lines completed with Enter, since the last call. */
  readonly entered: readonly string[];
  readonly isInterrupted: boolean;
}

const maxLength = 80;

/** A line after more keys: characters, Backspace, Ctrl-U, Enter, Ctrl-C; other keys do nothing. */
export function typeInto(line: Pick<TypedLine, 'text'>, keys: string): TypedLine {
  let { text } = line;
  const entered: string[] = [];
  let isInterrupted = false;
  // Escape sequences of other keys: CSI and SS3 of ECMA-48.
  for (const key of keys.replaceAll(/\u001b(?:\[[0-?]*[ -/]*[@-~]|O.|)/g, '')) {
    switch (key) {
      case '\r':
      case '\n':
        entered.push(text);
        text = '';
        break;
      case '\u0003':
        isInterrupted = true;
        break;
      case '\u007f':
      case '\b':
        text = Array.from(text).slice(0, -1).join('');
        break;
      case '\u0015':
        text = '';
        break;
      default:
        if (/^\P{Cc}$/u.test(key) && text.length < maxLength) text += key;
    }
  }
  return { text, entered, isInterrupted };
}
