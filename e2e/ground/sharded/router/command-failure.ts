import type { Document } from 'mongodb';

/** Server error codes that the router itself returns or handles. */
export const errorCodes = {
  IllegalOperation: 20,
  HostUnreachable: 6,
  BadValue: 2,
  Unauthorized: 13,
  InvalidOptions: 72,
  NamespaceNotFound: 26,
  CursorNotFound: 43,
  CommandNotFound: 59,
  ShardKeyNotFound: 61,
  ShardNotFound: 70,
  CommandNotSupported: 115,
  NamespaceNotSharded: 118,
  CannotSplit: 153,
  NotImplemented: 238,
  NoSuchTransaction: 251,
  WouldChangeOwningShard: 283,
  UserWritesBlocked: 371,
} as const;

/** A command that is answered with an error. */
export class CommandFailure extends Error {
  /** The whole answer. */
  readonly answer: Document;

  constructor(answer: Document) {
    super(String(answer['errmsg']));
    this.answer = answer;
  }

  get code(): number {
    return Number(this.answer['code']);
  }
}

/** An error of the router's own. */
export function failure(
  codeName: keyof typeof errorCodes,
  errmsg: string,
  errorLabels?: readonly string[],
): CommandFailure {
  const code = errorCodes[codeName];
  return new CommandFailure({ ok: 0, errmsg, code, codeName, ...(errorLabels && { errorLabels }) });
}

/** The answer itself, unless it is an error. @throws CommandFailure */
export function succeeded(answer: Document): Document {
  if (answer['ok'] === 1) return answer;
  throw new CommandFailure(withoutServerFields(answer));
}

/** What a server says about itself in every answer, and a router does not pass on. */
const serverFields = new Set([
  '$clusterTime',
  'operationTime',
  '$configTime',
  '$topologyTime',
  '$gleStats',
  'lastCommittedOpTime',
]);

export function isServerField(name: string): boolean {
  return serverFields.has(name);
}

export function withoutServerFields(answer: Document): Document {
  return Object.fromEntries(Object.entries(answer).filter(([name]) => !isServerField(name)));
}

/** A shard knows a newer placement than the router asked by: StaleConfig, StaleDbVersion. To be asked again. */
export function isStale(answer: Document): boolean {
  return answer['ok'] !== 1 && [13388, 249].includes(Number(answer['code']));
}
