/**
 * The class of a server's error, which decides how it is handled.
 *
 * - `transient`: it passes, or the same work can be started again: retried for as long as it takes, with a warning.
 * - `unclear`: the server does not say what happened, or it is not an answer to anything that is sent: retried for a limited
 *   time, with a warning. So is every code that the table does not have.
 * - `ours`: what was sent is refused, and will be again. The code that sent it handles it; if it does not, that is a fault of
 *   this program.
 * - `theirs`: a person must act, on the server or on its users. It is not retried.
 */
export type CodeClass = 'transient' | 'unclear' | 'ours' | 'theirs';

/** Codes that mean the same to this program. */
export interface CodeGroup {
  readonly class: CodeClass;
  /** What they mean, and how they are handled: part of the documentation, and of the errors shown to people. */
  readonly meaning: string;
  /**
   * `keys`: an index cannot have the keys of a document, and so refuses it, or cannot be built over it. `index`: in the answer
   * to the creation of an index, it says that this index is impossible. Nothing else is a refusal of an index.
   */
  readonly refuses?: 'keys' | 'index';
  /** Names by code. */
  readonly codes: ReadonlyMap<number, string>;
}

/** One code of a server. */
export interface ServerCode {
  readonly code: number;
  readonly name: string;
  readonly group: CodeGroup;
}

/**
 * Every error code that servers have a name for, and those without a name that this program has to know. Sources:
 * src/mongo/base/error_codes.yml of the server (6.0, and the branch after 8.2), and the keys of indexes in src/mongo/db/index,
 * db/geo and db/fts; a test asks a server for all names that it knows.
 */
export const codeGroups: readonly CodeGroup[] = [
  {
    class: 'transient',
    meaning: 'A connection to a server, or between servers, was lost or could not be established.',
    codes: listed`6 HostUnreachable 7 HostNotFound 89 NetworkTimeout 141 SSLHandshakeFailed 145 PooledConnectionsDropped
      149 NoConfigPrimary 172 TransportSessionClosed 173 TransportSessionNotFound 174 TransportSessionUnknown
      190 MasterSlaveConnectionFailure 199 ReplicaSetMonitorRemoved 202 NetworkInterfaceExceededTimeLimit
      230 DNSHostNotFound 231 DNSProtocolError 240 DNSRecordTypeMismatch 279 ClientDisconnect 303 SplitHorizonChange
      317 ConnectionPoolExpired 372 CloseConnectionForShutdownCommand 384 ConnectionError 398 StreamTerminated
      407 PooledConnectionAcquisitionExceededTimeLimit 9001 SocketException 56846 ConfigServerUnreachable`,
  },
  {
    class: 'transient',
    meaning:
      'There is no primary, or a new one; there is no member to read; or the server is starting or shutting down.',
    codes: listed`91 ShutdownInProgress 93 InvalidReplicaSetConfig 94 NotYetInitialized 95 NotSecondary
      109 ConfigurationInProgress 133 FailedToSatisfyReadPreference 135 StaleTerm 164 InitialSyncActive
      189 PrimarySteppedDown 216 ElectionInProgress 281 TransactionCoordinatorSteppingDown
      308 CurrentConfigNotCommittedYet 333 ServiceExecutorInShutdown 10058 LegacyNotPrimary 10107 NotWritablePrimary
      11600 InterruptedAtShutdown 11602 InterruptedDueToReplStateChange 13435 NotPrimaryNoSecondaryOk
      13436 NotPrimaryOrSecondary`,
  },
  {
    class: 'transient',
    meaning:
      'Someone killed the operation (killOp, killSessions), or the server did. It is repeated, which leads to the same state.',
    codes: listed`90 CallbackCanceled 194 BalancerInterrupted 237 CursorKilled 276 IndexBuildAborted
      282 TransactionCoordinatorReachedAbortDecision 287 TransactionCoordinatorDeadlineTaskCanceled
      310 PeriodicJobIsStopped 311 TransactionCoordinatorCanceled 312 OperationIsKilledAndDelisted
      337 AuthenticationAbandoned 355 InterruptedDueToStorageChange 453 InterruptedDueToReshardingCriticalSection
      11601 Interrupted 46841 ClientMarkedKilled 91331 RetriableRemoteCommandFailure
      10045600 InterruptedDueToFCVChange`,
  },
  {
    class: 'transient',
    meaning: 'The cursor or the query plan is gone: the read is started again.',
    codes: listed`43 CursorNotFound 136 CappedPositionLost 143 CursorInUse 175 QueryPlanKilled 221 IndexModified
      222 CloseChangeStream 234 RetryChangeStream 314 ObjectIsBusy 316 QueryTrialRunCompleted
      348 ChangeStreamTopologyChange 401 ResumeTenantChangeStream 442 RetryMultiPlanning
      4938500 IndexNotFoundCachedPlan`,
  },
  {
    class: 'transient',
    meaning: 'A time limit was exceeded: of the operation, of a lock, or of a wait for members.',
    codes: listed`24 LockTimeout 50 MaxTimeMSExpired 64 WriteConcernTimeout 262 ExceededTimeLimit
      290 TransactionExceededLifetimeLimitSeconds 342 ReshardingCriticalSectionTimeout`,
  },
  {
    class: 'transient',
    meaning:
      'It conflicts with another operation: a write to the same document, an index build, a drop, a chunk migration.',
    codes: listed`46 LockBusy 107 LockFailed 112 WriteConflict 117 ConflictingOperationInProgress 128 LockNotFound
      129 LockStateChangeFailed 200 ChunkRangeCleanupPending 208 TooManyLocks 215 DatabaseDropPending
      267 PreparedTransactionInProgress 272 MigrationConflict 285 IndexBuildAlreadyInProgress
      319 MovePrimaryInProgress 329 TenantMigrationInProgress 338 ReshardCollectionInProgress
      363 RetryableTransactionInProgress 381 ReshardingCoordinatorServiceConflictingOperationInProgress
      385 ConflictingServerlessOperation 406 MigrationBlockingOperationCoordinatorCleaningUp 412 UpdatesStillPending
      414 AddOrRemoveShardInProgress 12586 BackgroundOperationInProgressForDatabase
      12587 BackgroundOperationInProgressForNamespace 50915 BackupCursorOpenConflictWithCheckpoint
      1003141 RemoveShardDrainingInProgress`,
  },
  {
    class: 'transient',
    meaning: 'The server does not have the state of that time yet, or no longer.',
    codes: listed`134 ReadConcernMajorityNotAvailableYet 203 ShardingStateNotInitialized 209 StaleClusterTime
      210 CannotVerifyAndSignLogicalTime 211 KeyNotFound 239 SnapshotTooOld 246 SnapshotUnavailable
      250 StaleChunkHistory`,
  },
  {
    class: 'transient',
    meaning: 'A router or a shard has stale routing metadata, and refreshes it.',
    codes: listed`63 OBSOLETE_StaleShardVersion 150 StaleEpoch 249 StaleDbVersion 306 ReadThroughCacheLookupCanceled
      343 ShardCannotRefreshDueToLocksHeld 360 PlacementVersionRefreshCanceled 379 DatabaseMetadataRefreshCanceled
      445 DatabaseMetadataRefreshCanceledDueToFCVTransition 9996 OBSOLETE_RecvStaleConfig 13388 StaleConfig
      10171600 ReadThroughCacheTimeMonotonicityViolation`,
  },
  {
    class: 'transient',
    meaning: 'The server is overloaded.',
    // 388, seen: 6.0.27 with a cache of 256 MB refused one document of 15 MB, while it was busy, and took others of the same size.
    codes: listed`261 TooManyLogicalSessions 365 TemporarilyUnavailable 388 TransactionTooLargeForCache
      402 ResourceExhausted 433 AdmissionQueueOverflow 449 RateLimitExceeded 450 PooledConnectionAcquisitionRejected 462 IngressRequestRateLimitExceeded`,
  },
  {
    class: 'transient',
    meaning: 'The session or the transaction is no longer usable: a new one is started.',
    codes: listed`206 NoSuchSession 213 DuplicateSession 217 IncompleteTransactionHistory 225 TransactionTooOld
      228 SessionTransferIncomplete 244 NOT_YET_AVAILABLE_TransactionAborted 251 NoSuchTransaction
      356 TxnRetryCounterTooOld 358 InternalTransactionNotSupported 364 TxnRetryCounterNotSupported
      374 TransactionAPIMustRetryTransaction 375 TransactionAPIMustRetryCommit 391 ReauthenticationRequired`,
  },
  {
    class: 'transient',
    meaning:
      'Authentication failed. A server that has just started knows no users for a moment: running work is retried, with a warning. A start is refused.',
    codes: listed`18 AuthenticationFailed`,
  },
  {
    class: 'theirs',
    meaning:
      'The user of the connection string lacks a privilege, or may not authenticate this way: grant what the description names.',
    codes: listed`11 UserNotFound 13 Unauthorized 31 RoleNotFound 69 AuthSchemaIncompatible
      214 AuthenticationRestrictionUnmet 334 MechanismUnavailable 371 UserWritesBlocked`,
  },
  {
    class: 'theirs',
    meaning: 'The server lacks disk space or file descriptors: give it more.',
    codes: listed`264 TooManyFilesOpen 14031 OutOfDiskSpace`,
  },
  {
    class: 'theirs',
    meaning: "The server's data is damaged, or the server needs repair.",
    codes: listed`51 ManualInterventionRequired 127 UnrecoverableRollbackError 269 DataModifiedByRepair
      270 RepairedReplicaSetNode 301 DataCorruptionDetected`,
  },
  {
    class: 'theirs',
    meaning: "The server's configuration does not allow a sync: change what the description names.",
    codes: listed`76 NoReplicationEnabled 79 UnknownReplWriteConcern 100 UnsatisfiableWriteConcern
      106 DistributedClockSkewed 108 InconsistentReplicaSetNames 123 NotAReplicaSet 140 InvalidSSLConfiguration
      148 ReadConcernMajorityNotEnabled 157 CanRepairToDowngrade 158 MustUpgrade 188 IncompatibleServerVersion
      205 ClusterTimeFailsRateLimiter 224 QueryFeatureNotAllowed 229 MustDowngrade 243 IncompatibleWithUpgradedServer
      258 UnknownFeatureCompatibilityVersion 299 OCSPCertificateStatusRevoked 302 OCSPCertificateStatusUnknown
      322 APIVersionError 323 APIStrictError 324 APIDeprecationError 332 CannotDowngrade 347 APIMismatchError
      354 LoadBalancerSupportMismatch 376 ChangeStreamNotEnabled 400 CannotUpgrade 411 QueryRejectedBySettings`,
  },
  {
    class: 'theirs',
    meaning:
      'The change stream cannot resume, as the oplog no longer holds its position: OplogRolledOver.',
    codes: listed`280 ChangeStreamFatalError 286 ChangeStreamHistoryLost`,
  },
  {
    class: 'ours',
    refuses: 'keys',
    meaning:
      'An index cannot hold the keys of a document. The index is left to the commit, when the data is right again, with a warning; at the commit itself: IndexBuildRefused.',
    codes: listed`12 UnsupportedFormat 171 CannotIndexParallelArrays 201 CannotBuildIndexKeys 13026 Location13026
      13027 Location13027 13067 Location13067 13068 Location13068 16433 Location16433 16732 Location16732
      16733 Location16733 16746 Location16746 16755 Location16755 16756 Location16756 16766 Location16766
      16804 Location16804 17261 Location17261 17262 Location17262 17280 OBSOLETE_KeyTooLong`,
  },
  {
    class: 'ours',
    refuses: 'index',
    meaning:
      'The index cannot be created like this, or conflicts with another one. It is left to the commit, with a warning; at the commit itself: IndexBuildRefused.',
    codes: listed`67 CannotCreateIndex 68 IndexAlreadyExists 85 IndexOptionsConflict 86 IndexKeySpecsConflict
      161 IncompatibleCollationVersion 181 AmbiguousIndexKeyPattern 197 InvalidIndexSpecificationOption
      396 IndexInformationTooLarge 16764 Location16764 31253 Location31253 31254 Location31254
      31303 Location31303`,
  },
  {
    class: 'ours',
    refuses: 'index',
    meaning:
      'A value is refused. If it belongs to an index, the index is left to the commit, as above.',
    codes: listed`2 BadValue 4 NoSuchKey 9 FailedToParse 14 TypeMismatch 15 Overflow 16 InvalidLength 72 InvalidOptions
      235 InternalErrorNotSupported 238 NotImplemented 241 ConversionFailure 40413 IDLDuplicateField
      40414 IDLFailedToParse 40415 IDLUnknownField 51091 Location51091 51108 Location51108 51109 Location51109
      51111 Location51111 51156 Location51156 4662500 IDLUnknownFieldPossibleMongocryptd`,
  },
  {
    class: 'ours',
    meaning:
      'The object does not exist, or exists already: it is looked up again by its UUID, or counts as done.',
    codes: listed`26 NamespaceNotFound 27 IndexNotFound 47 NoMatchingDocument 48 NamespaceExists 118 NamespaceNotSharded
      162 CollectionIsEmpty 163 ZoneStillInUse 177 ZoneNotFound 361 CollectionUUIDMismatch
      383 CollectionIsEmptyLocally 447 ObjectAlreadyExists`,
  },
  {
    class: 'ours',
    meaning:
      'A document or an update is refused: the document is replaced by its current version on the source.',
    codes: listed`3 OBSOLETE_DuplicateKey 10 CannotMutateObject 21 EmptyArrayOperation 22 InvalidBSON 28 PathNotViable
      29 NonExistentPath 30 InvalidPath 34 CannotBackfillArray 40 ConflictingUpdateOperators
      52 DollarPrefixedFieldName 53 InvalidIdField 54 NotSingleValueField 55 InvalidDBRef 56 EmptyFieldName
      57 DottedFieldName 61 ShardKeyNotFound 66 ImmutableField 84 OBSOLETE_DuplicateKeyValue
      111 NotExactValueField 116 DocTooLargeForCapped 121 DocumentValidationFailure 156 OBSOLETE_NeedsDocumentMove
      207 InvalidUUID 218 UpdateOperationFailed 283 WouldChangeOwningShard 349 KeyPatternShorterThanBound
      357 InvalidBSONType 366 WouldChangeOwningShardDeletedNoDocument 378 NonConformantBSON
      10003 CannotGrowDocumentInCappedNamespace 10334 BSONObjectTooLarge 11000 DuplicateKey 17419 Location17419
      17420 Location17420`,
  },
  {
    class: 'ours',
    meaning: 'A view or a pipeline is refused: ViewRefused.',
    codes: listed`5 GraphContainsCycle 165 ViewDepthLimitExceeded 166 CommandNotSupportedOnView
      167 OptionNotSupportedOnView 168 InvalidPipelineOperator 169 CommandOnShardedViewNotSupportedOnMongod
      182 InvalidViewDefinition 195 ViewPipelineMaxSizeExceeded 232 MaxSubPipelineDepthExceeded
      291 NoQueryExecutionPlans 292 QueryExceededMemoryLimitNoDiskUseAllowed 40324 Location40324`,
  },
  {
    class: 'ours',
    meaning:
      'The command is refused. If that is expected, it is handled, as for a chunk that cannot be split; otherwise InternalError.',
    codes: listed`17 ProtocolError 19 CannotReuseObject 20 IllegalOperation 23 AlreadyInitialized 59 CommandNotFound
      73 InvalidNamespace 87 CannotSplit 88 OBSOLETE_SplitFailed 101 OutdatedClient 115 CommandNotSupported
      126 RPCProtocolNegotiationFailed 151 OperationCannotBeBatched 153 ChunkTooBig 159 DurationOverflow
      160 MaxStalenessOutOfRange 178 RangeOverlapConflict 183 ClientMetadataMissingField
      184 ClientMetadataAppNameTooLarge 185 ClientMetadataDocumentTooLarge 186 ClientMetadataCannotBeMutated
      187 LinearizableReadConcernError 193 OBSOLETE_NoShardingEnabled 223 IllegalOpMsgFlag 226 AtomicityFailure
      227 CannotImplicitlyCreateCollection 233 TooManyDocumentSequences 242 CannotCreateCollection
      256 TransactionCommitted 257 TransactionTooLarge 260 InvalidResumeToken
      263 OperationNotSupportedInTransaction 351 ChangeStreamStartAfterInvalidate 352 UnsupportedOpQueryCommand
      359 CannotConvertIndexToUnique 370 CannotDropShardKeyIndex 405 CannotCreateChunkDistribution
      13113 MergeStageNoMatchingDocument 13297 DatabaseDifferCase 28769 NamespaceCannotBeSharded
      50768 NotARetryableWriteCommand 57986 RetryableInternalTransactionNotSupported
      640570 IllegalChangeToExpectedShardVersion 640571 IllegalChangeToExpectedDatabaseVersion`,
  },
  {
    class: 'unclear',
    meaning: 'The server does not say what has happened.',
    codes: listed`0 OK 1 InternalError 8 UnknownError 65 MultipleErrorsOccurred 70 ShardNotFound 71 ReplicaSetNotFound
      74 NodeNotFound 77 OperationIncomplete 78 CommandResultSchemaViolation 82 NoProgressMade
      83 RemoteResultsUnavailable 96 OperationFailed 125 CommandFailed 146 ExceededMemoryLimit
      147 ZLibError 204 TimeProofMismatch 245 BrokenPromise 252 ReentrancyNotAllowed
      278 UnsatisfiableCommitQuorum 288 ChecksumMismatch 297 HierarchicalAcquisitionLevelViolation
      330 SkipCommandExecution 331 FailedToRunWithReplyBuilder 346 ChangeStreamInvalidated
      362 FutureAlreadyRetrieved 380 RequestAlreadyFulfilled 382 RemoteCommandExecutionError 390 InvalidSignature
      392 InvalidJWT 393 InvalidTenantId 395 TruncatedSerialization 404 LDAPRoleAcquisitionError
      426 IndexIsEmpty 430 IndexKeyOrderViolation 431 ChunkMetadataInconsistency`,
  },
  {
    class: 'unclear',
    meaning:
      'An answer to commands that this program does not send, or between servers: not expected.',
    codes: listed`25 RemoteValidationError 32 RolesNotRelated 33 PrivilegeNotFound 35 UserModificationFailed
      36 RemoteChangeDetected 37 FileRenameFailed 38 FileNotOpen 39 FileStreamFailed 41 FileAlreadyOpen
      42 LogWriteFailed 45 UserDataInconsistent 49 InvalidRoleModification 58 RoleModificationFailed
      60 OBSOLETE_DatabaseNotFound 62 OplogOperationUnsupported 75 WriteConcernLegacyOK 80 RoleDataInconsistent
      81 NoMatchParseContext 92 SecondaryAheadOfPrimary 97 NoProjectionFound 98 DBPathInUse
      102 IncompatibleAuditMetadata 103 NewReplicaSetConfigurationIncompatible 104 NodeNotElectable
      105 IncompatibleShardingMetadata 110 CannotInitializeNodeWithData 113 InitialSyncFailure
      114 InitialSyncOplogSourceMissing 119 InvalidSyncSource 120 OplogStartMissing
      122 OBSOLETE_ReadAfterOptimeTimeout 124 IncompatibleElectionProtocol 130 SymbolNotFound
      132 OBSOLETE_ConfigServersInconsistent 137 IncompatibleShardingConfigVersion 138 RemoteOplogStale
      139 JSInterpreterFailure 142 JSUncatchableError 144 IncompatibleCatalogManager 152 OplogOutOfOrder
      154 InconsistentShardIdentity 155 CannotApplyOplogWhilePrimary 170 TooManyMatchingDocuments 176 FileOpenFailed
      179 WindowsPdhError 180 BadPerfCounterPath 191 OBSOLETE_BalancerLostDistributedLock 192 FailPointEnabled
      198 OBSOLETE_ReceivedOpReplyMessage 212 IncompatibleRollbackAlgorithm 219 FTDCPathNotSet
      220 FTDCPathAlreadySet 236 ForTestingErrorExtraInfo 247 ProducerConsumerQueueBatchTooLarge
      248 ProducerConsumerQueueEndClosed 253 FreeMonHttpInFlight 254 FreeMonHttpTemporaryFailure
      255 FreeMonHttpPermanentFailure 259 KeyedExecutorRetry 265 OrphanedRangeCleanUpFailed 266 FailPointSetFailed
      268 CannotBackup 271 JSInterpreterFailureWithStack 273 ProducerConsumerQueueProducerQueueDepthExceeded
      274 ProducerConsumerQueueConsumed 275 ExchangePassthrough 277 AlarmAlreadyFulfilled
      284 ForTestingErrorExtraInfoWithExtraInfoInNamespace 289 WaitForMajorityServiceEarlierOpTimeAvailable
      293 InvalidSeedList 294 InvalidTopologyType 295 InvalidHeartBeatFrequency 296 TopologySetNameRequired
      298 InvalidServerType 300 RangeDeletionAbandonedBecauseCollectionWithUUIDDoesNotExist
      307 RangeDeletionAbandonedBecauseTaskDocumentDoesNotExist 309 ExhaustCommandFinished
      313 ResumableRangeDeleterDisabled 315 TooStaleToSyncFromSource 318 ForTestingOptionalErrorExtraInfo
      321 TenantMigrationCommitted 325 TenantMigrationAborted 326 OplogQueryMinTsMissing 327 NoSuchTenantMigration
      328 TenantMigrationAccessBlockerShuttingDown 335 TenantMigrationForgotten 336 TimeseriesBucketCleared
      339 NoSuchReshardCollection 340 ReshardCollectionCommitted 341 ReshardCollectionAborted 344 AuditingNotEnabled
      345 RuntimeAuditConfigurationNotEnabled 350 ReshardCollectionTruncatedError 367 FLECompactionPlaceholder
      369 FLETransactionAbort 373 InternalTransactionsExhaustiveFindHasMore 377 FLEMaxTagLimitExceeded
      386 DuplicateKeyId 387 EncounteredFLEPayloadWhileApplyingHmac 389 LibmongocryptError
      403 UnsupportedShardingEventNotification 408 CannotInsertTimeseriesBucketsWithMixedSchema
      409 TimeseriesBucketCompressionFailed 410 TimeseriesBucketFrozen 413 TransactionParticipantFailedUnyield
      415 StreamProcessorDoesNotExist 416 StreamProcessorAlreadyExists 417 StreamProcessorWorkerShuttingDown
      418 StreamProcessorWorkerOutOfMemory 419 StreamProcessorKafkaConnectionError 420 StreamProcessorInvalidOptions
      421 StreamProcessorAtlasConnectionError 422 StreamProcessorAtlasUnauthorizedError
      423 StreamProcessorSourceDocTooLarge 424 StreamProcessorTooManyOutputTargets
      425 StreamProcessorCannotResumeFromSource 427 DbCheckSecondaryBatchTimeout
      428 DbCheckAttemptOnClusteredCollectionIdIndex 429 DbCheckInconsistentHash 432 OfflineValidationFailedToComplete
      434 NoDistinctScansForDistinctEligibleQuery 435 QueryStatsFailedToRecord 436 StreamProcessorHTTPSConnectionError
      440 StreamProcessorExternalFunctionConnectionError 443 StreamProcessorS3ConnectionError
      444 StreamProcessorS3Error 446 ClusterUMCErrorWithWriteConcernError 448 StreamProcessorInvalidNamespace
      451 StreamProcessorS3TokenExpired 452 ReleaseMemoryShardError 454 ReplayClientConfigurationError
      455 ReplayClientNotConnected 456 ReplayClientFailedToProcessBSON 457 ReplayClientInternalError
      458 ReplayClientSessionSchedulerError 459 ReplayClientSessionSimulationError
      460 StreamProcessorKinesisConnectionError 461 StreamProcessorKinesisError 13104 OBSOLETE_PrepareConfigsFailed
      31082 SearchNotEnabled 9737301 UnsupportedCbrNode 9751901 HistogramCEFailure 9751902 SamplingCEFailure
      9751903 CEFailure`,
  },
];

const byCode = new Map<number, ServerCode>(
  codeGroups.flatMap((group) =>
    [...group.codes].map(([code, name]): [number, ServerCode] => [code, { code, name, group }]),
  ),
);

/** All codes of the table, in their order. */
export function serverCodes(): readonly ServerCode[] {
  return [...byCode.values()].sort((left, right) => left.code - right.code);
}

/** The table's entry for a code; undefined if there is none. */
export function serverCodeOf(code: number): ServerCode | undefined {
  return byCode.get(code);
}

/** Pairs of a code and its name. */
function listed({ raw: [text = ''] }: TemplateStringsArray): ReadonlyMap<number, string> {
  return new Map(
    Array.from(text.matchAll(/\b(\d+)\s+(\S+)/g), ([, code, name]) => [Number(code), String(name)]),
  );
}
