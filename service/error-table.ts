/** One row of the table of errors: what a person, an HTTP client and the operator need to know of an error. */
export interface ErrorRow {
  /** HTTP status of an answer that carries this error. */
  readonly status: number;
  /** True where the same request can succeed later without anything being changed by a person. */
  readonly retryable: boolean;
  /** The condition reason that the operator shows for it. */
  readonly reason: string;
  /** What a person should do next. */
  readonly action: string;
}

const badRequest = { status: 400, retryable: false, reason: 'InvalidRequest' } as const;
const configuration = { status: 400, retryable: false, reason: 'InvalidConfiguration' } as const;
const precondition = { status: 409, retryable: false, reason: 'PreconditionFailed' } as const;
const fatal = { status: 500, retryable: false, reason: 'SyncFailed' } as const;

/**
 * Every error name that the HTTP APIs answer with. The names are part of the API: they are added to, never changed.
 * `docs/reference/errors.md` is checked against this table by a test.
 */
export const errorTable = {
  // The HTTP request itself.
  InvalidJSON: {
    ...badRequest,
    action: 'Send a JSON object as the body; `{}` where there is nothing to say.',
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
    action: 'Use the method that the `Allow` header names.',
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
      'Use an address or localhost, or give the server a token: without one it answers to no other name.',
  },
  InvalidRequestTarget: {
    ...badRequest,
    action: 'Send a path, such as /api/v1/progress, in the request line.',
  },
  TooManyStreams: {
    ...badRequest,
    status: 503,
    retryable: true,
    reason: 'TooManyStreams',
    action: 'Close pages of the dashboard that nobody looks at.',
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
    action: 'Leave reversible out: the description says why these clusters cannot change places.',
  },
  ShardingRequired: {
    ...configuration,
    action: 'Add `sharding` to the start body: the destination is a sharded cluster.',
  },
  ShardingNotAllowed: {
    ...configuration,
    action: 'Leave `sharding` out: it is for replica set to sharded cluster only.',
  },
  InvalidShardKey: {
    ...configuration,
    action: 'Correct the sharding entry that the description names.',
  },
  TopologyNotSupported: {
    ...configuration,
    action: 'Use replica sets or sharded clusters; a sharded cluster goes to a sharded cluster.',
  },
  TimeSeriesNotSupported: {
    ...configuration,
    action: 'Exclude the time-series collections that the description names.',
  },
  NameNotSupported: {
    ...configuration,
    action:
      'Exclude what the description names, or give it another name: no tool that takes names as text can reach it.',
  },
  InvalidNamespaceFilter: {
    ...configuration,
    action: 'Correct the filter entry that the description names.',
  },

  // What start refuses because of the clusters.
  ServerVersionNotSupported: {
    ...precondition,
    action: 'Upgrade the server that the description names to 6.0 or newer.',
  },
  FeatureVersionNotSupported: {
    ...precondition,
    action:
      'Set that version of the cluster that the description names to 6.0 or newer (setFeatureCompatibilityVersion), wait for its end, and send the command again.',
  },
  WriteBlockingNeedsUser: {
    ...precondition,
    action:
      'Name a user in the connection string of the cluster that the description names; or set enableUserWriteBlocking to false, and stop writes yourself.',
  },
  SameCluster: {
    ...precondition,
    action: 'Let the destination be another deployment than the source.',
  },
  MissingPrivileges: {
    ...precondition,
    action: 'Grant the actions that the description names to the user of the connection string.',
  },
  DestinationNotEmpty: {
    ...precondition,
    action: 'Drop the namespaces that the description names from the destination, or exclude them.',
  },
  OtherSyncUnfinished: {
    ...precondition,
    action:
      'Finish the other sync, or end it: `clustersync reset` to a syncer between its clusters. Where these are gone, drop the database clustersync_internal on the destination.',
  },
  OtherStartOptions: {
    ...precondition,
    action: 'Send the same start to every instance; the description names the options of the sync.',
  },
  DifferentSync: {
    status: 409,
    retryable: false,
    reason: 'DifferentSync',
    action:
      'Use the options that the sync was started with. To give that sync up, ask for it explicitly: spec.startOver of the ClusterSync, or POST /api/v1/reset of the syncer.',
  },
  NotAnInstance: {
    ...precondition,
    action: 'Start the process with the --id of one of the instances that the description names.',
  },
  ShardKeyIndexMissing: {
    ...precondition,
    action:
      'Build the index that the description names on the source, or set createSupportingIndexes to true.',
  },
  IncompatibleUniqueIndex: {
    ...precondition,
    action:
      'Choose another shard key, with the fields that the unique indexes begin with, or drop the index that the description names.',
  },
  BalancerRunning: {
    ...precondition,
    retryable: true,
    action: 'Stop the balancer of the cluster (sh.stopBalancer()) until the sync is committed.',
  },
  OrphanInTheWay: {
    status: 503,
    retryable: true,
    reason: 'OrphanInTheWay',
    action:
      'Nothing, if it passes: it is tried again until the shard has removed what a chunk that was moved away has left there. Where that was stopped, let it continue.',
  },
  ClusterUnreachable: {
    status: 503,
    retryable: true,
    reason: 'ClusterUnreachable',
    action: 'Check that the servers run and can be reached from here.',
  },
  ServerAnswerMalformed: {
    status: 503,
    retryable: true,
    reason: 'ServerAnswerMalformed',
    action:
      'Nothing, if it passes: it is tried again. Otherwise find out what changes data on its way to the server that the description names (a proxy, a load balancer, a network card), whether a MongoDB server answers there, and whether its disk is sound (validate).',
  },
  StoredStateInvalid: {
    status: 503,
    retryable: true,
    reason: 'StoredStateInvalid',
    action:
      'Put the document that the description names back as it was (something else than clustersync has changed it, or another version has written it): it is read again until it can be. Where nobody knows how it was, begin again: `clustersync reset` and an empty destination for a sync, --clean for a verification.',
  },
  CommitUnknown: {
    status: 503,
    retryable: false,
    reason: 'CommitUnknown',
    action:
      'Let no application write to the source. Look at `state` and `commitUnderWay` in progress until they say that the commit is carried out, or that none is under way.',
  },
  ToolUnreachable: {
    status: 503,
    retryable: true,
    reason: 'ToolUnreachable',
    action: 'Check that the program runs, and that --url leads to it.',
  },
  CertificateNotTrusted: {
    status: 502,
    retryable: false,
    reason: 'CertificateNotTrusted',
    action:
      'Name with --ca-file the file of the authority that has signed the certificate, and with --tls-server-name the name that it is for.',
  },
  KubectlFailed: {
    status: 502,
    retryable: false,
    reason: 'KubectlFailed',
    action: 'See what kubectl says: the name, the namespace, the context, or your rights.',
  },
  OutputLost: {
    status: 500,
    retryable: false,
    reason: 'OutputLost',
    action:
      'Have the output go where there is room, and ask again, with `status` or `report` for one. What the command was to do besides is done.',
  },
  AuthenticationFailed: {
    status: 502,
    retryable: false,
    reason: 'AuthenticationFailed',
    action: 'Correct user name and password in the connection string.',
  },

  // Commands in the wrong state.
  InvalidStateTransition: {
    status: 409,
    retryable: false,
    reason: 'InvalidStateTransition',
    action: 'Look at `state` in progress: the description says which states allow the command.',
  },
  CannotCommitYet: {
    status: 409,
    retryable: true,
    reason: 'CannotCommitYet',
    action: 'Wait until `canCommit` in progress is true.',
  },
  NotReversible: {
    status: 409,
    retryable: false,
    reason: 'InvalidStateTransition',
    action: 'Only a sync that was started with reversible: true can be reversed.',
  },
  WritesNotBlocked: {
    ...precondition,
    action:
      'Make sure that nobody has written to the cluster that the description names since the commit, block it again (setUserWriteBlockMode), and send reverse again.',
  },
  ReverseTooLate: {
    ...precondition,
    action:
      'Changes since the commit are forgotten. To go back, empty the old source and start a new sync in the other direction; next time, with a larger oplog on the destination.',
  },
  ResetUnderWay: {
    status: 409,
    retryable: true,
    reason: 'ResetUnderWay',
    action:
      'Wait until `state` in progress is IDLE; `warnings` say what the reset waits for. Of several instances each has to be given it.',
  },
  CleanNotAllowed: {
    status: 409,
    retryable: false,
    reason: 'CleanNotAllowed',
    action:
      'The destination is in use, and nothing of it is dropped. Send reset with Keep, and drop there yourself what nobody needs.',
  },
  NotStarted: {
    status: 503,
    retryable: true,
    reason: 'NotStarted',
    action: 'Wait until the program has read its stored state.',
  },

  NothingToCompare: {
    ...precondition,
    action:
      'Choose what the verifier compares: --verifyAll, --includeNamespaces, or the sync recorded on the destination. Then send check again.',
  },

  // What stops a sync or a verification that was running; state and data are kept.
  OplogRolledOver: {
    ...fatal,
    reason: 'OplogRolledOver',
    action:
      'The source has forgotten changes that were not read yet. Start over with a larger oplog on the source: `spec.startOver`, or `clustersync reset --destination Clean` and another start.',
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
      'Correct on both sides what the description names, then restart the program: the commit continues.',
  },
  ViewRefused: {
    ...fatal,
    reason: 'ViewRefused',
    action:
      'Correct on the destination what the description names, or drop the view from the source, then restart the program: the sync continues.',
  },
  InvalidShardKeyValue: {
    ...fatal,
    reason: 'InvalidShardKeyValue',
    action:
      'A document of the source has an array in a field of the shard key, which no sharded collection can have. Correct it, empty the destination, and start again; or choose another shard key.',
  },
  DuplicateIds: {
    ...fatal,
    reason: 'DuplicateIds',
    action:
      'Give one of the documents that the description names another _id: empty the destination, and start again. A collection that is sharded by other fields than _id does not keep its ids unique.',
  },
  CopyIncomplete: {
    ...fatal,
    reason: 'CopyIncomplete',
    action:
      'The stored state does not prove that every document was copied, though what was missing was copied again: something else changes clustersync_internal. Find out what, empty the destination, and start again.',
  },
  SupersededByOtherInstance: {
    ...fatal,
    reason: 'Superseded',
    action:
      'Another process has taken its place: one with the same --id, or one of another attempt at the same verification. Stop one of the two.',
  },
  ChangeNotSupported: {
    ...fatal,
    reason: 'ChangeNotSupported',
    action:
      'A change on the source cannot be followed; the description says which. Start again with that namespace excluded.',
  },
  ServerRefused: {
    ...fatal,
    reason: 'ServerRefused',
    action:
      'Do what the description asks for, on the server or for its user (the codes of servers are listed in the reference), then restart the program: the sync resumes.',
  },
  ApplyOpsOnSource: {
    ...fatal,
    reason: 'ApplyOpsOnSource',
    action:
      'End what writes to the source by applyOps (as mongorestore --oplogReplay), empty the destination, and start again; or exclude the collection that the description names.',
  },
  CheckFailed: {
    ...fatal,
    reason: 'CheckFailed',
    action: 'The verification could not be carried out; the description says why. Run it again.',
  },
  InternalError: {
    ...fatal,
    reason: 'InternalError',
    action: 'This is a fault of clustersync: please report it with the logs.',
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
