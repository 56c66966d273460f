import { EventLines, type ServerEvent } from '../view/event-lines.ts';

/** The connection of a page to the dashboard's server. */
export type Connection =
  'connecting' | 'live' | 'reconnecting' | 'unauthorized' | 'missing' | 'refused';

/** What to follow, and the callbacks. */
export interface Following {
  /** Relative to the page. */
  readonly path: string;
  readonly token: string | undefined;
  readonly onEvent: (event: ServerEvent) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** The server sends a sign of life more often than this. */
const silenceMs = 45_000;
const firstRetryMs = 1_000;
const maxRetryMs = 15_000;
const missingRetryMs = 5_000;

/**
 * Follows the events of a path until the signal is aborted, across lost connections. Uses fetch, because an
 * EventSource cannot send a token.
 */
export async function follow(following: Following, signal: AbortSignal): Promise<void> {
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    const outcome = await readOnce(following, signal);
    switch (outcome) {
      case 'stopped':
        return;
      case 'unauthorized':
        following.onConnection('unauthorized');
        return;
      case 'missing':
        following.onConnection('missing');
        await wait(missingRetryMs, signal);
        break;
      case 'refused':
        following.onConnection('refused');
        await wait(maxRetryMs, signal);
        break;
      case 'ended':
        retryMs = firstRetryMs;
        following.onConnection('reconnecting');
        await wait(retryMs, signal);
        break;
      case 'lost':
        following.onConnection('reconnecting');
        await wait(retryMs, signal);
        retryMs = Math.min(maxRetryMs, retryMs * 2);
    }
  }
}

type Outcome = 'stopped' | 'unauthorized' | 'missing' | 'refused' | 'ended' | 'lost';

async function readOnce(
  { path, token, onEvent, onConnection }: Following,
  signal: AbortSignal,
): Promise<Outcome> {
  const headers = headersFor(token);
  // Such a token cannot exist, as it cannot be sent.
  if (!headers) return 'unauthorized';
  const silence = new AbortController();
  const giveUp = (): void => {
    silence.abort();
  };
  let timer = setTimeout(giveUp, silenceMs);
  let hasBegun = false;
  try {
    const response = await fetch(path, {
      headers,
      cache: 'no-store',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    const refusal = refusalOf(response.status);
    if (refusal !== undefined || !response.body) return refusal ?? 'lost';
    onConnection('live');
    hasBegun = true;
    const lines = new EventLines();
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      clearTimeout(timer);
      timer = setTimeout(giveUp, silenceMs);
      for (const event of lines.read(decoder.decode(chunk, { stream: true }))) onEvent(event);
    }
    return 'ended';
  } catch {
    if (signal.aborted) return 'stopped';
    return hasBegun ? 'ended' : 'lost';
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined if the token has characters that a header cannot contain. */
function headersFor(token: string | undefined): Record<string, string> | undefined {
  if (token === undefined) return {};
  return /^[\x20-\x7e\xa0-\xff]*$/.test(token) ? { Authorization: `Bearer ${token}` } : undefined;
}

function refusalOf(status: number): Outcome | undefined {
  switch (status) {
    case 200:
      return undefined;
    case 401:
      return 'unauthorized';
    case 404:
      return 'missing';
    case 503:
      return 'refused';
    default:
      return 'lost';
  }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => {
    resolve(undefined);
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
}
