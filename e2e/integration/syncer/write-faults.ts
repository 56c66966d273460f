import { BSON, type Document } from 'mongodb';
import { answerBody, answerMessage } from '../../ground/sharded/router/wire.ts';
import type { ProxiedReplicaSet } from '../../ground/mongod/proxied-replica-set.ts';
import type { Encounter } from '../../ground/tcp-proxy.ts';
import { commandKind, commandOf } from './command-kind.ts';
import { fateOf, PlannedWrites, type Plan } from './planned-writes.ts';

/** Every command that changes nothing on a server that matters to a sync: whatever is not among them counts as a write. */
const reads = new Set([
  ...['aggregate', 'find', 'getMore', 'listCollections', 'listDatabases', 'listIndexes', 'count'],
  ...['buildInfo', 'collStats', 'connectionStatus', 'dataSize', 'dbStats', 'getParameter', 'ping'],
  ...['hello', 'hostInfo', 'isMaster', 'replSetGetConfig', 'replSetGetStatus', 'serverStatus'],
  ...['endSessions', 'killCursors', 'killSessions', 'saslContinue', 'saslStart', 'getCmdLineOpts'],
]);

/** The driver repeats what it may repeat after this one, */
const shutdownInProgress = { code: 91, codeName: 'ShutdownInProgress' } as const;
/** and nothing after this one. */
const interrupted = { code: 11_601, codeName: 'Interrupted' } as const;

/** What comes at intervals, so that a program sends as many as it takes long: the first ones of each kind stand for all. */
const maxOfPeriodic = 3;

/** Whose writes are watched. */
export interface WatchedProgram {
  /** The database with its own state, of whose writes the fields are told apart. */
  readonly stateDatabase: string;
  /** The writes that come at intervals. */
  readonly periodic: RegExp;
}

/** The writes that a program sends to some servers, and the fault that one of them meets. */
export class WriteWatch {
  readonly #program: WatchedProgram;
  readonly #writes = new PlannedWrites();
  /** What the driver repeats has the same transaction as the write that has met its fault. */
  #metTransaction: string | undefined;

  constructor(sides: readonly ProxiedReplicaSet[], program: WatchedProgram) {
    this.#program = program;
    for (const { proxies } of sides)
      for (const proxy of proxies) proxy.judge((bytes) => this.#judge(bytes));
  }

  /** See {@link PlannedWrites.begin}. */
  begin(plan?: Plan): void {
    this.#writes.begin(plan);
    this.#metTransaction = undefined;
  }

  /** What was written since then, in the order of sending; without what the driver has repeated because of the fault. */
  get order(): readonly string[] {
    return this.#writes.order;
  }

  /** The write that has met the planned fault; undefined while there is none. */
  get met(): string | undefined {
    return this.#writes.met;
  }

  #judge(bytes: Buffer): Encounter | undefined {
    const kind = commandKind(bytes);
    if (kind === undefined || reads.has(kind.split(' ')[0] ?? '')) return undefined;
    const command = commandOf(bytes);
    const transaction = command && transactionOf(command);
    const { plan } = this.#writes;
    if (plan && transaction !== undefined && transaction === this.#metTransaction)
      return repeats(plan) ? encounterOf(plan, bytes, transaction) : undefined;
    const { stateDatabase, periodic } = this.#program;
    const write = command ? describeWrite(command, stateDatabase) : `${kind}, of several chunks`;
    const met = this.#writes.note(write, periodic.test(write) ? maxOfPeriodic : Infinity);
    if (!met) return undefined;
    this.#metTransaction = transaction;
    return encounterOf(met, bytes, transaction);
  }
}

/** Whether the fault is also that of the one repetition by the driver, which would else hide it from the syncer. */
function repeats({ fault }: Plan): boolean {
  return fault === 'is lost with its connection' || fault === 'is carried out, and its answer lost';
}

function encounterOf(plan: Plan, request: Buffer, transaction: string | undefined): Encounter {
  return fateOf(plan, {
    refusal: () => refusalOf(request, plan.n, transaction !== undefined),
    unacknowledged,
  });
}

/** The same text for each write that does the same to the same: its command, namespace, and, of the state, the fields that it changes. */
function describeWrite(command: Document, stateDatabase: string): string {
  const [name = ''] = Object.keys(command);
  const target: unknown = command[name];
  const namespace = `${String(command['$db'])}${typeof target === 'string' ? `.${target}` : ''}`;
  const isOfState = command['$db'] === stateDatabase;
  return [name, namespace, ...(isOfState ? changedFields(command) : [])].join(' ');
}

function changedFields(command: Document): string[] {
  const [first] = (command['updates'] ?? []) as readonly { readonly u: Document }[];
  const update: unknown = first?.u ?? command['update'];
  if (typeof update !== 'object' || update === null) return [];
  if (Object.keys(update).every((key) => !key.startsWith('$'))) return ['replacement'];
  type Operators = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  return Object.entries(update as Operators).map(([operator, fields]) => {
    const names = Object.entries(fields).map(([field, value]) =>
      ['phase', 'state'].includes(field) ? `${field}=${String(value)}` : field,
    );
    return `${operator}(${names.join()})`;
  });
}

/** The session and the number of a write that the driver may repeat; undefined of one that it does not repeat. */
function transactionOf(command: Document): string | undefined {
  const { lsid, txnNumber } = command as Readonly<Record<string, unknown>>;
  return txnNumber === undefined ? undefined : BSON.EJSON.stringify({ lsid, txnNumber });
}

/** One of two refusals, always the same for a number. */
function refusalOf(request: Buffer, n: number, isRepeatable: boolean): Buffer {
  const isByDriver = n % 2 === 0;
  const errmsg = 'refused by the test';
  return message(request.readInt32LE(4), {
    ...{ ok: 0, errmsg, ...(isByDriver ? shutdownInProgress : interrupted) },
    // As servers say it of what the driver may repeat.
    ...(isByDriver && isRepeatable && { errorLabels: ['RetryableWriteError'] }),
  });
}

/** The answer of the server, with an error of the wait for a majority. */
function unacknowledged(answer: Buffer): Buffer {
  const document = BSON.deserialize(answerBody(answer), { promoteValues: false });
  const writeConcernError = { ...shutdownInProgress, errmsg: 'not acknowledged, by the test' };
  return message(answer.readInt32LE(8), { ...document, writeConcernError });
}

/** A message of the protocol that answers another one. */
function message(requestId: number, document: Document): Buffer {
  return answerMessage({ isOpQuery: false, requestId }, BSON.serialize(document));
}
