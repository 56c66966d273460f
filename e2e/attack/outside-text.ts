import assert from 'node:assert/strict';
import { Binary, MongoServerError } from 'mongodb';
import { commitState, stateBeforeCommit } from '../../cli/kubectl/commit-state.ts';
import { lastRows, syncTree, tableLines, treeLines } from '../../cli/kubectl/tree.ts';
import { readSync, readVerification as verificationOf } from '../../cli/kubectl/resources.ts';
import { fieldLines, formatted } from '../../cli/render/formats.ts';
import { renderLine } from '../../cli/render/style.ts';
import { cutTo, fitTo, rowsOf, widthOf } from '../../cli/render/width.ts';
import { parseNamespaces } from '../../cli/run/start-body.ts';
import { typeInto } from '../../cli/terminal/screen.ts';
import { findRoute } from '../../dashboard/server/dashboard-server.ts';
import { checkLogin } from '../../mongo/answer-check.ts';
import {
  codeOf,
  connectionError,
  errorNameOf,
  isCappedSnapshot,
  isConnectionClosed,
  isCursorLost,
  isIndexRefused,
  isRefused,
  isRefusedByIndex,
  isTimeNotHeardOf,
  isTransient,
  isUnclear,
  neededAction,
} from '../../mongo/server-errors.ts';
import { errorOfStatus, KubeError } from '../../operator/kube/kube-error.ts';
import { bytesOf, keptError, keptProgress } from '../../operator/operand/kept-progress.ts';
import { keptFindings } from '../../operator/clustersync/kept-findings.ts';
import { destinationHosts, hostAlone } from '../../operator/clustersync/destination-hosts.ts';
import { actionFor, apiError, errorIn, reasonFor } from '../../operator/operand/http-api.ts';
import {
  checkConnectionString,
  compressorsIn,
  parseConnectionString,
} from '../../mongo/connection-options.ts';
import { operandLabels, operandName } from '../../operator/operand/names.ts';
import { asError, messageOf, shortened, SyncError, toSyncError } from '../../service/errors.ts';
import { jsonValue, levelsOf } from '../../service/json-text.ts';
import { redact, redactValue } from '../../service/redact.ts';
import { harmless, harmlessLines } from '../../service/harmless.ts';
import { harmlessJson, harmlessXml } from '../../service/terminal.ts';
import { refuseOtherNames, refuseOtherOrigins } from '../../service/browser-guard.ts';
import { createLogger } from '../../service/logger.ts';
import { answeredError, errorInText, errorNameIn } from '../../sync-api/answer-error.ts';
import { readCheck, readFindings } from '../../sync-api/check-answer.ts';
import {
  allCopied,
  combineCollections,
  readCollections,
  readProgress,
  readTopology,
} from '../../sync-api/syncer-answers.ts';
import { readMismatch, readMismatches, readVerification } from '../../sync-api/verifier-answers.ts';
import {
  parseLimits,
  parseRepairBody,
  parseResetBody,
  parseStart,
} from '../../syncer/options/command-bodies.ts';
import { formatReport, reportFormats, type Report } from '../../verifier/report/report.ts';

const plain = { hasColours: false, hasBlocks: false };

/** Gives a function's error as what it has said. */
function saidBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    assert.ok(error instanceof SyncError, String(error));
    return error;
  }
}

/** What meets text from outside: a request, a pod, a database, a resource of a tenant. Heads of requests have 16 KiB at most. */
export const meetingText: Readonly<Record<string, (text: string) => unknown>> = {
  redact,
  'redactValue of a tree': (text) => redactValue({ [text]: [text] }),
  'an error that was thrown': (text) => [
    ...[messageOf(text), asError(text), toSyncError(new Error(text))],
    shortened(text, 1_000),
  ],
  'an error': (text) => new SyncError('InternalError', text),
  harmless,
  harmlessLines,
  harmlessJson,
  harmlessXml,
  jsonValue,
  levelsOf,
  widthOf,
  rowsOf: (text) => rowsOf(text, 80),
  'cutTo and fitTo': (text) => [cutTo(text, 80), fitTo(text, 80)],
  'the error of a pod': (text) => errorIn({ error: text }, false),
  'the described error of a pod': (text) => errorIn({ error: 'X', errorDescription: text }, false),
  'what an error of a pod means': (text) => [
    apiError({ name: text, description: text }, false),
    [
      actionFor(text),
      reasonFor(text),
      errorInText(text),
      errorInText('A', text),
      errorNameIn(text),
    ],
  ],
  parseConnectionString,
  compressorsIn: (text) => [compressorsIn(text), compressorsIn(`mongodb://a/?compressors=${text}`)],
  destinationHosts: (text) => destinationHosts(text, 'shop'),
  hostAlone,
  'the hosts of a connection string': (text) => destinationHosts(`mongodb://${text}`, 'shop'),
  'the options of a connection string': (text) => destinationHosts(`mongodb://a/?${text}`, 'shop'),
  checkConnectionString: (text) => {
    const use = { option: '--cluster0', refusesFiles: true };
    assert.throws(() => {
      checkConnectionString(`mongodb://a/?${text}`, use);
    }, SyncError);
  },
  'the name and the labels of an operand': (text) => [
    operandName(text, 'syncer'),
    operandLabels(text, 'syncer'),
  ],
  parseNamespaces: (text) => saidBy(() => parseNamespaces('include', text)),
  'parseNamespaces of JSON': (text) => saidBy(() => parseNamespaces('include', `[${text}`)),
  answeredError: (text) => [
    answeredError({ error: text }),
    answeredError({ error: `Name: ${text}` }),
    answeredError({ error: 'Name', errorDescription: text }),
  ],
  'progress of a syncer': (text) => {
    const told = { state: text, info: text, warnings: [text], [text]: text };
    return readProgress(told);
  },
  'collections and the topology of a syncer': (text) => {
    const collections = readCollections({ collections: [{ namespace: text, [text]: text }] });
    assert.ok(collections);
    const topology = { kind: 'sharded', shards: [text], [text]: text };
    const combined = combineCollections([collections, collections], 2);
    return [combined, allCopied(combined), readTopology({ topology })];
  },
  'progress of a verifier': (text) => {
    const mismatch = { namespace: text, kind: text, id: text, index: text, field: text };
    const told = { phase: text, error: text, mismatches: [mismatch], [text]: text };
    const page = { mismatches: [mismatch], next: text };
    return [readVerification(told), readMismatch(mismatch), readMismatches(page)];
  },
  keptProgress: (text) => keptProgress({ info: text, warnings: [text, text], [text]: text }),
  keptError: (text) => keptError(text),
  bytesOf,
  'what a check has found': (text) => {
    const texts = { name: text, message: text, action: text, namespaces: [text] };
    const findings = [{ severity: 'blocker', ...texts }];
    readCheck({ success: true, canStart: true, findings });
    return keptFindings(readFindings(findings));
  },
  'formatted as text of fields': (text) => fieldLines({ a: text }),
  'formatted as JSON': (text) => formatted({ [text]: text }, 'json', () => text),
  'formatted as YAML': (text) => formatted({ [text]: text }, 'yaml', () => text),
  'the phase that kubectl prints': (text) =>
    treeLines(syncTree(readSync({ status: { phase: text, [text]: text } }), [])),
  'a condition that kubectl prints': (text) => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'A', message: text }];
    const preflight = [{ severity: text, name: text, message: text, action: text }];
    return treeLines(syncTree(readSync({ status: { conditions, preflight } }), []));
  },
  'a commit that kubectl prints': (text) => {
    const conditions = ['ReadyToCommit', 'Ready', 'Stalled'].map((type) => ({
      ...{ type, status: text, reason: text, message: text },
    }));
    const status = { observedGeneration: 1, phase: text, conditions };
    const object = { metadata: { name: text }, status, spec: { source: { name: text } } };
    return [stateBeforeCommit(readSync(object)), commitState(object)];
  },
  'an instance that kubectl prints': (text) =>
    treeLines(syncTree(readSync({ status: { instances: [{ id: text, [text]: text }] } }), [])),
  'a SyncVerification that kubectl prints': (text) =>
    treeLines(
      syncTree(readSync({}), [verificationOf({ status: { verdict: text, [text]: text } })]),
    ),
  'events that kubectl prints': (text) => lastRows(text, 500),
  'lines of a table and a tree': (text) => [
    tableLines(['A', 'B'], [[text, text]]),
    treeLines({ text, below: [{ text }] }),
  ],
  renderLine: (text) => renderLine([{ text }, { text }], 80, plain),
  'keys that are typed': (text) => typeInto({ text: '' }, text),
  'a line of the log': (text) => {
    createLogger('test', 'info', () => undefined).info({ text, [text]: text }, text);
  },
  'an error of the API server': (text) => [
    new KubeError({ request: text, reason: text, message: text }),
    errorOfStatus(text, 500, { reason: text, message: text, [text]: text }, text),
    errorOfStatus(text, 500, text),
  ],
  'a path of the dashboard': (text) => findRoute(`/api/v1/syncs/a/${text}`),
  'the name and the origin of a request': (text) => {
    const ctx = { get: () => text, host: 'localhost' } as never;
    for (const refuse of [refuseOtherNames, refuseOtherOrigins])
      saidBy(() => {
        refuse(ctx);
      });
  },
  'an error that tells a cluster time': (text) =>
    isTimeNotHeardOf(new MongoServerError({ code: 72, message: `afterClusterTime ${text}` })),
  'the answer to a login': (text) =>
    saidBy(() => {
      const command = { saslStart: 1, mechanism: 'SCRAM-SHA-256' };
      checkLogin(command, { payload: new Binary(Buffer.from(`r=nonce,s=c2FsdA==,i=${text}`)) });
    }),
  'an error of a server': (text) => {
    const error = new MongoServerError({ code: 59, codeName: text, message: text });
    const judges = [isTransient, isUnclear, isRefused, isRefusedByIndex, isIndexRefused];
    const others = [isCappedSnapshot, isConnectionClosed, isCursorLost, codeOf, neededAction];
    return [
      ...[...judges, ...others].map((judge) => judge(error)),
      ...[errorNameOf(error), connectionError(error), toSyncError(error)],
    ];
  },
  parseStart: (text) => {
    const body = { source: text, includeNamespaces: [{ database: text, [text]: [text] }] };
    assert.throws(() => parseStart(body), SyncError);
  },
  'parseStart of what is to be sharded': (text) => {
    const shardCollection = { key: [{ [text]: 1 }] };
    const entry = { database: text, collection: text, shardCollection };
    const sharding = { createSupportingIndexes: true, shardingEntries: [entry, entry] };
    const body = { source: 'cluster0', destination: 'cluster1', sharding };
    return saidBy(() => parseStart(body));
  },
  parseLimits: (text) => {
    const window = { from: '08:00', to: '18:00', timeZone: text };
    for (const body of [text, { [text]: 1 }, { maxChangesPerSecond: text }, { schedule: [window] }])
      assert.throws(() => parseLimits(body), SyncError);
  },
  parseRepairBody: (text) => {
    for (const body of [text, [text], { comparison: text }, { [text]: 1 }])
      assert.throws(() => parseRepairBody(body), SyncError);
  },
  parseResetBody: (text) => {
    for (const body of [{ destination: text }, { [text]: text }])
      assert.throws(() => parseResetBody(body), SyncError);
  },
};

/** The same, of what writes its text piece by piece. */
export const writingText: Readonly<Record<string, (text: string) => AsyncIterable<string>>> =
  Object.fromEntries(
    reportFormats.map((format) => [
      `a report as ${format}`,
      (text: string) => formatReport(reportOf(text), format),
    ]),
  );

async function* streamOf<T>(row: T): AsyncGenerator<T, void> {
  yield await Promise.resolve(row);
}

/** A report in which an id and an error, of any length, are what a database has. */
function reportOf(text: string): Report {
  const kind = 'differentDocument';
  return {
    head: {
      ...{ verification: 'nightly', attempt: 0, status: 'running', verdict: null, proof: null },
      ...{ error: text, generation: 0, startedAt: null, completedAt: null, documentsCompared: 1 },
      ...{ bytesCompared: 1, mismatchKinds: [{ kind, count: 1 }], isOverflowing: false },
    },
    mismatches: streamOf({ namespace: 'shop.items', kind, id: text }),
    namespaces: streamOf({
      ...{ namespace: 'shop.items', tasks: 1, endedTasks: 1, failedTasks: 0, coverage: null },
      ...{ compared: { documents: 1, bytes: 1 }, expected: { documents: 1, bytes: 1 } },
    }),
  };
}

/**
 * The other exports of the same modules, by the reason why they get no text from outside, or no long one. A new function belongs
 * here, or, if it gets such text, above.
 */
export const notMeetingText: Readonly<Record<string, readonly string[]>> = {
  'decides by a code, a class or a number': [
    ...[
      'isNotFound',
      'isConflict',
      'isAlreadyExists',
      'isGone',
      'isInvalid',
      'isNotServed',
      'isRefused',
      'isForbidden',
      'isTerminating',
    ],
    ...['tellsNoCommit', 'barText', 'topologyErrors', 'isReaderGone'],
  ],
  'is made of options that the user of the command line gives': ['startBodyOf'],
  'takes what others above have read, cut or checked': [
    ...['apiTargetAt', 'callOperand', 'selectorLabels', 'itemsOf'],
    ...['metadataOf', 'conditionIn', 'formatJunit', 'proofText'],
    ...['isLoopback', 'checkEntries', 'namespaceOf', 'requestedShardKey', 'shardKeyOf'],
    ...['parseStartBody', 'parseStoredLimits'],
  ],
  'writes to a terminal what `harmless` and its kin, above, have made of it': [
    ...['writeOut', 'writeError', 'writeLog', 'writeDrawn', 'isOutTerminal', 'Screen'],
  ],
  'reads BSON, whose lengths it follows, and no text': ['checkAnswer', 'documentOf'],
  'only passes paths to `findRoute`, above': ['startDashboard'],
};
