/**
 * The header in which a syncer says, with each progress, at which of the hosts in the connection string of cluster1 it has logged in: a
 * connection string of these alone, without user or options, as `encodeURI` writes it; empty for none. It is not there before the process knows both clusters.
 */
export const destinationHeader = 'Clustersync-Destination';
