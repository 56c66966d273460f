const connectionString = /mongodb(?:\+srv)?:\/\//i;

/** User name and password in any other URI: the part between `//` and the last `@` before the path. */
const userInfo = /:\/\/[^/?#]*@/g;

/** Options of a connection string whose values are secret. */
export const secretOption =
  /([?&;](?:tlsCertificateKeyFilePassword|proxyPassword|authMechanismProperties)=)([^&]*)/gi;

/**
 * Replaces user names, passwords and secret options of every connection string in a text. It takes time in proportion to the
 * length of any text. JSON stays JSON.
 */
export function redact(text: string): string {
  return text.replace(/[^\s"]+/g, redactWord);
}

/** A JSON value with its texts and field names redacted. */
export function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [redact(name), redactValue(each)]),
  );
}

/**
 * @param word - without white space and double quotation marks, which end a URI in a text. Any other character may appear
 * unescaped in a password.
 */
function redactWord(word: string): string {
  return redactConnectionString(word)
    .replace(userInfo, '://<credentials>@')
    .replace(secretOption, (_, name: string, value: string) => `${name}<redacted>${endOf(value)}`);
}

/** The backslashes at the end of a value: in JSON, the last one escapes the quotation mark that follows. */
function endOf(value: string): string {
  let start = value.length;
  while (value[start - 1] === '\\') start -= 1;
  return value.slice(start);
}

/**
 * Everything before the last `@` may belong to an unescaped password, including `/`, `?`, `#` and another scheme. (A single
 * expression for all of this would look for the last `@` from each scheme.)
 */
function redactConnectionString(word: string): string {
  const end = word.lastIndexOf('@');
  const start = end < 0 ? null : connectionString.exec(word.slice(0, end));
  if (!start) return word;
  return `${word.slice(0, start.index)}${start[0]}<credentials>${word.slice(end)}`;
}
