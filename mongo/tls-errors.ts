const untrusted =
  'the certificate of the server is signed by an authority that is not trusted. Name its authority: in tls.caSecretRef or tls.caConfigMapRef of the ClusterSync, or in the file of an option or of tlsCAFile';

const useNone = 'omit tls, in the connection string and in the ClusterSync, or turn it on there';

const plain = `the server does not use TLS: ${useNone}`;

/** What a server does that does not know TLS: node:tls has no code for it. */
const disconnected = 'disconnected before secure TLS connection was established';

const perhapsPlain = `if the server does not use TLS, ${useNone}; otherwise its log says why it has closed the connection`;

const unaccepted =
  'the server does not accept the certificate of the client: use one that is valid, and signed by an authority that the server trusts';

/** What to do about an error of node:tls or OpenSSL, by its code (Node 24). */
const actions: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: 'renew the certificate of the server, or of its authority',
  CERT_NOT_YET_VALID: 'compare the clocks of the server and of this machine',
  CERT_REVOKED: 'replace the certificate of the server: its authority has revoked it',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'name the servers, in the connection string and in the configuration of their replica set, as their certificates do, or give the name that is in the certificates: in tls.serverName of the ClusterSync, or in an option',
  ERR_SSL_WRONG_VERSION_NUMBER: plain,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: unaccepted,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: unaccepted,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: unaccepted,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: unaccepted,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: unaccepted,
};

/** How deep the driver (7.8) wraps the error of a socket, at most. */
const maxDepth = 5;

/** What failed in TLS while connecting, and what to do about it; undefined if something else failed. */
export function tlsProblem(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < maxDepth && current instanceof Error; depth++) {
    const { code } = current as NodeJS.ErrnoException;
    const action = typeof code === 'string' ? actions[code] : undefined;
    if (action !== undefined) return `${reasonOf(current)}: ${action}`;
    if (current.message.endsWith(disconnected)) return `${current.message}: ${perhapsPlain}`;
    current = current.cause;
  }
  return undefined;
}

/** Without the places in OpenSSL's source: its errors have the words for people in a field of their own. */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const reason: unknown = (error as { readonly reason?: unknown }).reason;
  return code?.startsWith('ERR_SSL_') && typeof reason === 'string' ? reason : error.message;
}
