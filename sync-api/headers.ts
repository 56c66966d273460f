/** The header by which a command says which sync it is for, and an answer which one it is about: the digest of its start options. */
export const optionsDigestHeader = 'Clustersync-Options-Digest';

/**
 * The header in which a syncer reports, with each progress, at which of the hosts in the connection string of cluster1 it has
 * logged in: a connection string with only these, without user or options, as `encodeURI` writes it; empty for none. It is
 * absent until the process knows both clusters.
 */
export const destinationHeader = 'Clustersync-Destination';

/** The header beside it that identifies the deployment of cluster1 by a hash: 32 hexadecimal digits. */
export const deploymentHeader = 'Clustersync-Destination-Deployment';
