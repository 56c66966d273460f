import { redact } from '../../service/redact.ts';

/** Details of a {@link KubeError}. */
export interface KubeErrorDetails {
  /** The request: method and path. */
  readonly request: string;
  /** Undefined if there was no answer. */
  readonly statusCode?: number | undefined;
  /**
   * `reason` of the API server's Status (`NotFound`, `Conflict`, ...); without one: ConnectionFailed,
   * DeadlineExceeded, InvalidResponse or ResponseTooLarge.
   */
  readonly reason: string;
  readonly message: string;
  /** The reasons of the causes in the API server's Status; none by default. */
  readonly causes?: readonly string[];
  /** Set if the server said how long to wait before a retry. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A failed request to the API server. An aborted request rejects with the signal's reason instead. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly statusCode: number | undefined;
  readonly reason: string;
  readonly causes: readonly string[];
  readonly retryAfterMs: number | undefined;

  constructor(details: KubeErrorDetails) {
    const { request, statusCode, reason, message, causes = [], retryAfterMs, cause } = details;
    const code = statusCode === undefined ? '' : `${statusCode} `;
    super(redact(`${request}: ${code}${reason}: ${message}`), { cause });
    this.statusCode = statusCode;
    this.reason = reason;
    this.causes = causes;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The object is not there. */
export function isNotFound(error: unknown): error is KubeError {
  return error instanceof KubeError && error.statusCode === 404;
}

/** The namespace is being deleted: nothing new can be created there. */
export function isTerminating(error: unknown): boolean {
  return isForbidden(error) && error.causes.includes('NamespaceTerminating');
}

/** Somebody else has changed the object since it was read, or owns a field that was applied without force. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.statusCode === 409 && error.reason !== 'AlreadyExists';
}

/** The account has no right to do this. */
export function isForbidden(error: unknown): error is KubeError {
  return error instanceof KubeError && error.statusCode === 403;
}

/** An object of that name already exists. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeError && error.statusCode === 409 && error.reason === 'AlreadyExists';
}

/** The resource version or the continue token is too old: list again. */
export function isGone(error: unknown): boolean {
  return error instanceof KubeError && error.statusCode === 410;
}

/** The account has no right to it, or the server has no such resource: so it stays until somebody changes that. */
export function isRefused(error: unknown): error is KubeError {
  return isForbidden(error) || isNotFound(error);
}

/** The resulting object would violate its schema: the same request cannot succeed. */
export function isInvalid(error: unknown): boolean {
  return error instanceof KubeError && error.statusCode === 422;
}

/** The answer's Status as an error. `body` is whatever the server sent. */
export function errorOfStatus(
  request: string,
  statusCode: number,
  body: unknown,
  retryAfterSeconds?: string,
): KubeError {
  const status = typeof body === 'object' && body !== null ? body : {};
  const text = (name: 'reason' | 'message', otherwise: string): string => {
    const value: unknown = Reflect.get(status, name);
    return typeof value === 'string' && value !== '' ? value : otherwise;
  };
  const seconds = Number(retryAfterSeconds);
  return new KubeError({
    request,
    statusCode,
    reason: text('reason', 'Unknown'),
    message: text('message', typeof body === 'string' ? body.slice(0, 500) : 'no message'),
    causes: causeReasons(status),
    retryAfterMs: seconds > 0 ? seconds * 1000 : undefined,
  });
}

function causeReasons(status: object): string[] {
  const details: unknown = Reflect.get(status, 'details');
  const causes: unknown = typeof details === 'object' && details && Reflect.get(details, 'causes');
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause: unknown) => {
    const reason: unknown = typeof cause === 'object' && cause && Reflect.get(cause, 'reason');
    return typeof reason === 'string' ? [reason] : [];
  });
}
