/** User information (user name and password) in any URI: what stands between `//` and the last `@` before the path. */
const userInfo = /([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'`]*@/gi;

/** Options of a connection string whose values are secret. */
const secretOption =
  /([?&;](?:tlsCertificateKeyFilePassword|proxyPassword|authMechanismProperties)=)[^&\s"'`]*/gi;

/** Replaces user names, passwords and secret options of every connection string in a text. */
export function redact(text: string): string {
  return text.replace(userInfo, '$1<credentials>@').replace(secretOption, '$1<redacted>');
}
