/** One row of the table of errors: what a person, an HTTP client and the operator need to know of an error. */
export interface ErrorRow {
  /** HTTP status of an answer that carries this error. */
  readonly status: number;
  /** True if the same request can succeed later without a person changing anything. */
  readonly retryable: boolean;
  /** The condition reason that the operator shows for it. */
  readonly reason: string;
  /** What a person should do next. */
  readonly action: string;
}

const badRequest = { status: 400, retryable: false, reason: 'InvalidRequest' } as const;
const configuration = { status: 400, retryable: false, reason: 'InvalidConfiguration' } as const;
const precondition = { status: 409, retryable: false, reason: 'PreconditionFailed' } as const;
const conflict = { status: 409, retryable: false } as const;
const unavailable = { status: 503, retryable: true } as const;
const failedElsewhere = { status: 502, retryable: false } as const;
const fatal = { status: 500, retryable: false, reason: 'SyncFailed' } as const;

/** People drop databases otherwise: too much of the destination, or too little. */
const startingOver =
  'start over: `spec.startOver` with a new token and `destination: Clean`, or `clustersync reset --destination Clean --wait` and another start. That drops only what the sync has created: drop nothing by hand.';

/**
 * Every error name that the HTTP APIs answer with. The names are part of the API: new ones may be added, none is ever changed.
 * A test checks `docs/reference/errors.md` against this table.
 */
export const errorTable = {
  // The HTTP request itself.
  InvalidJSON: {
    ...badRequest,
    action: 'Send a JSON object as the body; `{}` if there are no parameters.',
  },
  InvalidBody: { ...badRequest, action: 'Correct the field that the description names.' },
  BodyTooLarge: { ...badRequest, status: 413, action: 'Send a body of at most 1 MiB.' },
  UnsupportedContentType: {
    ...badRequest,
    status: 415,
    action: 'Send `Content-Type: application/json`.',
  },
  MethodNotAllowed: {
    ...badRequest,
    status: 405,
    action: 'Use a method from the `Allow` header.',
  },
  NotFound: {
    ...badRequest,
    status: 404,
    action: 'All paths begin with /api/v1; see the API reference.',
  },
  Unauthorized: {
    ...badRequest,
    status: 401,
    reason: 'Unauthorized',
    action: 'Send the API token as `Authorization: Bearer <token>`.',
  },
  CrossOriginRequest: {
    ...badRequest,
    status: 403,
    action: 'Call the API from a program, not from a page of another site.',
  },
  UnknownHost: {
    ...badRequest,
    status: 421,
    action:
      'Use an IP address or localhost, or configure a token: without one the server answers to no other host name.',
  },
  InvalidRequestTarget: {
    ...badRequest,
    action: 'Send a path, such as /api/v1/progress, in the request line.',
  },
  TooManyStreams: {
    ...unavailable,
    reason: 'TooManyStreams',
    action: 'Close dashboard pages that are not in use.',
  },

  // What start refuses because of its body.
  UnknownCluster: {
    ...configuration,
    action: 'Use cluster0 and cluster1, each once, as source and destination.',
  },
  NeverWithReversible: {
    ...configuration,
    action: 'Set buildIndexes to beforeDataCopy, or reversible to false.',
  },
  ReversibleNeedsWriteBlocking: {
    ...configuration,
    action: 'Set enableUserWriteBlocking to true, or reversible to false.',
  },
  ReversibleNotSupported: {
    ...configuration,
    action: 'Omit reversible: the description says why these clusters cannot be reversed.',
  },
  ShardingRequired: {
    ...configuration,
    action: 'Add `sharding` to the start body: the destination is a sharded cluster.',
  },
  ShardingNotAllowed: {
    ...configuration,
    action: 'Omit `sharding`: it applies only from a replica set to a sharded cluster.',
  },
  InvalidShardKey: {
    ...configuration,
    action: 'Correct the sharding entry that the description names.',
  },
  TopologyNotSupported: { ...configuration, action: 'Use replica sets or sharded clusters.' },
  TimeSeriesNotSupported: {
    ...configuration,
    action: 'Exclude the time-series collections that the description names.',
  },
  CollectionNotSupported: {
    ...configuration,
    action:
      'Exclude the collection that the description names, or create it again without what the description names.',
  },
  NameNotSupported: {
    ...configuration,
    action:
      'Exclude or rename what the description names: tools that take names as text cannot address it.',
  },
  InvalidNamespaceFilter: {
    ...configuration,
    action: 'Correct the filter entry that the description names.',
  },

  // What start refuses because of the clusters.
  ServerVersionNotSupported: {
    ...precondition,
    action:
      'Upgrade the server that the description names: to 6.0 or newer, and a destination at least to the version of the source.',
  },
  FeatureVersionNotSupported: {
    ...precondition,
    action:
      'Set the featureCompatibilityVersion of the cluster that the description names to 6.0 or newer (setFeatureCompatibilityVersion), and that of a destination to at least that of the source, wait until it completes, and send the command again.',
  },
  WriteBlockingNeedsUser: {
    ...precondition,
    action:
      'Add a user to the connection string of the cluster that the description names, or set enableUserWriteBlocking to false and stop writes yourself.',
  },
  SameCluster: { ...precondition, action: 'Choose a destination other than the source.' },
  MissingPrivileges: {
    ...precondition,
    action: 'Grant the actions that the description names to the user of the connection string.',
  },
  DestinationNotEmpty: {
    ...precondition,
    action:
      'Drop from the destination the namespaces that the description names, or exclude them. If they are a copy of the source, such as a restored backup, start with initialData: Present.',
  },
  OtherSyncUnfinished: {
    ...precondition,
    action:
      'Finish the other sync, or end it: send `clustersync reset` to a syncer between its clusters. If they no longer exist, drop the database clustersync_internal on the destination.',
  },
  OtherStartOptions: {
    ...precondition,
    action:
      'Send the same start body to every instance; the description lists the options of the sync.',
  },
  DifferentSync: {
    ...conflict,
    reason: 'DifferentSync',
    action:
      'Use the options that the sync was started with. To abandon that sync, do so explicitly: set spec.startOver of the ClusterSync, or send POST /api/v1/reset to the syncer.',
  },
  NotAnInstance: {
    ...precondition,
    action:
      'Continue or end (reset) that sync with exactly the instances that the description names. Use a ClusterSync with the same spec.source.name and their number as spec.syncer.instances (none if they are the shards of the source), or one process for each, with all names in --ids (--id for one).',
  },
  ShardKeyIndexMissing: {
    ...precondition,
    action:
      'Build the index that the description names on the source, or set createSupportingIndexes to true.',
  },
  IncompatibleUniqueIndex: {
    ...precondition,
    action:
      'Choose a shard key that is a prefix of the unique indexes, or drop the index that the description names.',
  },
  BalancerRunning: {
    ...precondition,
    retryable: true,
    action: 'Stop the balancer of the cluster (sh.stopBalancer()) until the sync is committed.',
  },
  OrphanInTheWay: {
    ...unavailable,
    reason: 'OrphanInTheWay',
    action:
      'Wait: the sync retries until the shard has deleted the orphaned documents of a migrated chunk. If range deletion was stopped there, let it continue.',
  },
  ClusterUnreachable: {
    ...unavailable,
    reason: 'ClusterUnreachable',
    action: 'Check that the servers are running and reachable from here.',
  },
  ServerAnswerMalformed: {
    ...unavailable,
    reason: 'ServerAnswerMalformed',
    action:
      'Wait: the program retries. If the error persists, find out what alters data between here and the server that the description names (a proxy, a load balancer, a network card), whether a MongoDB server answers there, and whether its disk is sound (validate).',
  },
  StoredStateInvalid: {
    ...unavailable,
    reason: 'StoredStateInvalid',
    action:
      'Restore the document that the description names (something other than clustersync changed it, or another version wrote it): the program rereads it until it is valid. If it cannot be restored, start over: for a sync with `clustersync reset --destination Clean --wait`, for a verification with --clean.',
  },
  CommitUnknown: {
    status: 503,
    retryable: false,
    reason: 'CommitUnknown',
    action:
      'Do not let applications write to the source. Watch `state` and `commitUnderWay` in progress until they show that the commit was carried out, or that none is in progress.',
  },
  CommitPending: {
    status: 503,
    retryable: false,
    reason: 'CommitPending',
    action:
      'Do not let applications write to the source: the commit is requested, and is carried out as soon as it can be. `kubectl clustersync status` shows what it waits for; to wait again, repeat the command.',
  },
  ToolUnreachable: {
    ...unavailable,
    reason: 'ToolUnreachable',
    action: 'Check that the program is running and that --url points to it.',
  },
  CertificateNotTrusted: {
    ...failedElsewhere,
    reason: 'CertificateNotTrusted',
    action:
      'Set --ca-file to the certificate of the issuing authority, and --tls-server-name to the name that the certificate is valid for.',
  },
  KubectlFailed: {
    ...failedElsewhere,
    reason: 'KubectlFailed',
    action:
      'Check what kubectl reports: the name, the namespace, the context, or your permissions.',
  },
  OutputLost: {
    status: 500,
    retryable: false,
    reason: 'OutputLost',
    action:
      'Write the output to a place with free space, and ask again, for example with `status` or `report`. Everything else that the command does is done.',
  },
  AuthenticationFailed: {
    ...failedElsewhere,
    reason: 'AuthenticationFailed',
    action: 'Correct the user name and password in the connection string.',
  },

  // Commands in the wrong state.
  InvalidStateTransition: {
    ...conflict,
    reason: 'InvalidStateTransition',
    action: 'Check `state` in progress: the description lists the states that allow the command.',
  },
  CannotCommitYet: {
    status: 409,
    retryable: true,
    reason: 'CannotCommitYet',
    action: 'Wait until `canCommit` in progress is true.',
  },
  NotReversible: {
    ...conflict,
    reason: 'InvalidStateTransition',
    action: 'Only a sync that was started with reversible: true can be reversed.',
  },
  WritesNotBlocked: {
    ...precondition,
    action:
      'Make sure that nothing was written to the cluster that the description names since the commit, block writes again (setUserWriteBlockMode), and send reverse again.',
  },
  ReverseTooLate: {
    ...precondition,
    action:
      'The oplog no longer holds the changes since the commit. To go back, start a new sync in the other direction, with `initialData: Present`, or into an empty third deployment. Keep the old source until you have decided. Next time, use a larger oplog on the destination.',
  },
  ResetUnderWay: {
    status: 409,
    retryable: true,
    reason: 'ResetUnderWay',
    action:
      'Wait until `state` in progress is IDLE; `warnings` say what the reset waits for. Send reset to every instance.',
  },
  CleanNotAllowed: {
    ...conflict,
    reason: 'CleanNotAllowed',
    action:
      'The destination is in use, so nothing is dropped. Send reset with Keep, and drop what is not needed yourself.',
  },
  NotStarted: {
    ...unavailable,
    reason: 'NotStarted',
    action: 'Wait until the program has read its stored state.',
  },

  NothingToCompare: {
    ...precondition,
    action:
      'Choose what the verifier compares: --verifyAll, --includeNamespaces with entries that match something, or the sync recorded on the destination. Then send check again.',
  },

  // Errors that stop a running sync or verification; state and data are kept.
  OplogRolledOver: {
    ...fatal,
    reason: 'OplogRolledOver',
    action:
      "The source's oplog no longer holds changes that were not read yet. Enlarge the oplog of the source, then repair the sync, which keeps the copy and copies only what differs: `spec.repair` with a new token, or `clustersync repair`.",
  },
  UniqueIndexViolation: {
    ...fatal,
    reason: 'UniqueIndexViolation',
    action:
      'Remove the duplicates that the description names, then restart the program: the commit continues.',
  },
  IndexBuildRefused: {
    ...fatal,
    reason: 'IndexBuildRefused',
    action:
      'Correct what the description names on both sides, then restart the program: the commit continues.',
  },
  ViewRefused: {
    ...fatal,
    reason: 'ViewRefused',
    action:
      'Correct what the description names on the destination, or drop the view from the source, then restart the program: the sync continues.',
  },
  InvalidShardKeyValue: {
    ...fatal,
    reason: 'InvalidShardKeyValue',
    action: `A document on the source has an array in a shard key field, which a sharded collection does not allow. Correct it, then ${startingOver} For another shard key, create a new ClusterSync.`,
  },
  DuplicateIds: {
    ...fatal,
    reason: 'DuplicateIds',
    action:
      'On the source, delete all but one of the documents that the description names, or give them other ids, then restart the syncer to continue. A collection whose shard key is not _id does not enforce unique ids: detectDuplicateIds finds them before a sync into a replica set.',
  },
  CopyIncomplete: {
    ...fatal,
    reason: 'CopyIncomplete',
    action: `The stored state does not prove that every document was copied, although missing parts were copied again: something else modifies clustersync_internal. Find out what, then ${startingOver}`,
  },
  SupersededByOtherInstance: {
    ...fatal,
    reason: 'Superseded',
    action:
      'Another process has taken over: one with the same --id, or one of another attempt at the same verification. Stop one of the two; if the other has stopped, restart it.',
  },
  ChangeNotSupported: {
    ...fatal,
    reason: 'ChangeNotSupported',
    action:
      'The sync cannot apply a change of the source; the description says which. Start a new sync with that namespace excluded: set `onDelete: Clean`, delete the ClusterSync, and create it with the namespace in `excludeNamespaces`; or `clustersync reset --destination Clean --wait`, and another start. If it is being committed, first decide whether to go back.',
  },
  ServerRefused: {
    ...fatal,
    reason: 'ServerRefused',
    action:
      'Follow the description, on the server or for its user (the reference lists server error codes), then restart the program: the sync resumes.',
  },
  ApplyOpsOnSource: {
    ...fatal,
    reason: 'ApplyOpsOnSource',
    action: `Stop whatever writes to the source with applyOps (such as mongorestore --oplogReplay), then ${startingOver} To exclude the collection that the description names, create a new ClusterSync.`,
  },
  CheckFailed: {
    ...fatal,
    reason: 'CheckFailed',
    action: 'The verification could not be carried out; the description says why. Rerun it.',
  },
  InternalError: {
    ...fatal,
    reason: 'InternalError',
    action: 'This is a bug in clustersync: report it with the logs.',
  },

  // Starting a program.
  InvalidOption: {
    ...configuration,
    action: 'Correct the option that the description names; --help lists them all.',
  },
} as const satisfies Record<string, ErrorRow>;

/** The name of an error: the value of `error` in an answer of the HTTP API. */
export type ErrorName = keyof typeof errorTable;

/** True for a name of the table. */
export function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(errorTable, name);
}
