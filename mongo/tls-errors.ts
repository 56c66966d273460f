const untrusted =
  'the certificate of the server is signed by an authority that is not trusted. Name its authority: in tls.caSecretRef or tls.caConfigMapRef of the ClusterSync, or in the file of an option or of tlsCAFile';

const plain =
  'the server does not use TLS: omit tls, in the connection string and in the ClusterSync, or turn it on there';

const unaccepted =
  'the server does not accept the certificate of the client: give one that is valid, and signed by an authority that the server knows';

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
    if (action !== undefined) return `${current.message}: ${action}`;
    current = current.cause;
  }
  return undefined;
}
