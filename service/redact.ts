const connectionString = /mongodb(?:\+srv)?:\/\//i;

/** User name and password in any other URI: what stands between `//` and the last `@` before the path. */
const userInfo = /:\/\/[^/?#]*@/g;

/** Options of a connection string whose values are secret. */
const secretOption =
  /([?&;](?:tlsCertificateKeyFilePassword|proxyPassword|authMechanismProperties)=)[^&]*/gi;

/**
 * Replaces user names, passwords and secret options of every connection string in a text. The time that it takes grows with
 * the length of the text, whatever the text is.
 */
export function redact(text: string): string {
  return text.replace(/[^\s"]+/g, redactWord);
}

/**
 * @param word - without white space and double quotation marks, which end a URI in a text. Others may stand in a password
 *   as they are.
 */
function redactWord(word: string): string {
  return redactConnectionString(word)
    .replace(userInfo, '://<credentials>@')
    .replace(secretOption, '$1<redacted>');
}

/**
 * Whatever stands before the last `@` may belong to a password that nobody has escaped, also `/`, `?`, `#` and another scheme.
 * (One expression for all of this would look for the last `@` from each scheme.)
 */
function redactConnectionString(word: string): string {
  const end = word.lastIndexOf('@');
  const start = end < 0 ? null : connectionString.exec(word.slice(0, end));
  if (!start) return word;
  return `${word.slice(0, start.index)}${start[0]}<credentials>${word.slice(end)}`;
}
