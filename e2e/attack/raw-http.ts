import { connect } from 'node:net';
import { orAborted } from '../../service/or-aborted.ts';
import { defaultDeadlineMs } from '../ground/default-deadline.ts';

/** An answer, read without leniency. */
export interface RawAnswer {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Sends bytes as they are, which a client library would refuse to send, or put right, and reads until the server closes the
 * connection, for which the bytes have to ask; of what has no end, server-sent events, the first that comes.
 * @returns the first answer; undefined where the connection was closed without any.
 */
export async function sendBytes(port: number, bytes: Uint8Array): Promise<RawAnswer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const signal = AbortSignal.timeout(defaultDeadlineMs);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    const answer = parsed(Buffer.concat(chunks).toString('utf8'));
    if (answer?.headers.get('content-type')?.startsWith('text/event-stream') === true)
      socket.destroy();
  });
  const closed = Promise.withResolvers<undefined>();
  // The server resets the connection if it no longer reads.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed.resolve(undefined);
  });
  socket.write(bytes);
  await orAborted(closed.promise, signal);
  return parsed(Buffer.concat(chunks).toString('utf8'));
}

function parsed(text: string): RawAnswer | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(first) ?? [];
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const rest = text.slice(end + 4);
  // "100 Continue" goes before an answer.
  if (status?.startsWith('1') === true) return parsed(rest);
  const body = headers.get('transfer-encoding') === 'chunked' ? unchunked(rest) : rest;
  return { status: Number(status), headers, body };
}

function unchunked(text: string): string {
  const end = text.indexOf('\r\n');
  const length = Number.parseInt(text.slice(0, end), 16);
  if (!(length > 0)) return '';
  const rest = text.slice(end + 2);
  return rest.slice(0, length) + unchunked(rest.slice(length + 2));
}
