import { StringDecoder } from 'node:string_decoder';
import { toObject, type CallOptions, type KubeClient, type Selection } from './client.ts';
import { errorOfStatus, KubeError } from './kube-error.ts';
import { resourcePath, type KubeObject, type Resource } from './resource.ts';

/** One event of a watch. A bookmark says how far the watch has got when nothing has changed. */
export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** Which events to watch for, and for how long. */
export interface WatchOptions extends Selection, CallOptions {
  /** Events after this version. */
  readonly resourceVersion: string;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number;
  /** The watch fails if nothing, not even a bookmark, has arrived for this time. */
  readonly inactivityMs: number;
  /** Called when the server has accepted the watch. */
  readonly onOpen?: () => void;
}

/** Longest line of a watch: objects are limited to 1.5 MB by etcd, and take more room as JSON. */
const maxLineChars = 16 * 1024 * 1024;

/**
 * The events of a watch. Ends when the server ends the watch; closes the connection when the caller stops reading.
 * @throws KubeError: Gone (410) if the version is too old, whether the server says so by its status or in the
 * stream; DeadlineExceeded if the stream has gone quiet; the signal's reason if it is aborted.
 */
export async function* watch<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { namespace, labelSelector, fieldSelector, ...options }: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  const path = resourcePath(resource, { namespace });
  using answer = await client.open({
    signal: options.signal,
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
    method: 'GET',
    path,
    query: {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.timeoutSeconds),
      labelSelector,
      fieldSelector,
    },
  });
  const { body, deadline, failure } = answer;
  deadline.rearm(options.inactivityMs);
  options.onOpen?.();
  const chunks = async function* (): AsyncGenerator<Buffer, void> {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      deadline.rearm(options.inactivityMs);
      yield chunk;
    }
  };
  try {
    for await (const line of readLines(chunks(), maxLineChars)) {
      yield parseEvent(resource, line, path);
    }
  } catch (error) {
    throw failure(error);
  }
}

/** The non-empty lines of a UTF-8 stream; what follows the last line break counts as a line. */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  maxChars: number,
): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  const takeLine = (end: string): string => {
    const line = parts.length === 0 ? end : parts.join('') + end;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    const [first = '', ...rest] = decoder.write(chunk).split('\n');
    let tail = first;
    for (const next of rest) {
      const line = takeLine(tail);
      if (line !== '') yield line;
      tail = next;
    }
    parts.push(tail);
    length += tail.length;
    if (length > maxChars) throw new RangeError(`a line is longer than ${maxChars} characters`);
  }
  const line = takeLine(decoder.end());
  if (line !== '') yield line;
}

function parseEvent<T extends KubeObject>(
  resource: Resource<T>,
  line: string,
  path: string,
): WatchEvent<T> {
  const invalid = (cause?: unknown): KubeError =>
    new KubeError({
      request: `watch ${path}`,
      reason: 'InvalidResponse',
      message: 'no watch event',
      cause,
    });
  let event: { readonly type?: unknown; readonly object?: unknown };
  try {
    event = JSON.parse(line) as typeof event;
  } catch (error) {
    throw invalid(error);
  }
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event.type, object: toObject(resource, event.object, path) };
    case 'BOOKMARK': {
      const bookmark = event.object as Partial<KubeObject> | undefined;
      const resourceVersion = bookmark?.metadata?.resourceVersion;
      if (resourceVersion === undefined) throw invalid();
      return { type: 'BOOKMARK', resourceVersion };
    }
    case 'ERROR': {
      const code = (event.object as { readonly code?: unknown } | undefined)?.code;
      throw errorOfStatus(`watch ${path}`, typeof code === 'number' ? code : 0, event.object);
    }
    default:
      throw invalid();
  }
}
