import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import { maxBodyBytes } from './json-body.ts';
import { orAborted } from './or-aborted.ts';

/** Of a body that is refused for its size, too, most is read. */
const maxUnreadBytes = 2 * maxBodyBytes;

/** A client that sends its body slowly gets its answer by then. */
const maxReadingMs = 1_000;

/**
 * Reads what the rest of an application leaves of a request's body, before the answer is sent. Otherwise Node closes the
 * connection while the body is still coming, the kernel answers that with a reset, and the client fails to write before it has
 * read why it was refused.
 */
export async function readUnread(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  await next();
  const isRead = await orAborted(discard(ctx.req), AbortSignal.timeout(maxReadingMs)).catch(
    () => false,
  );
  if (!isRead) ctx.set('Connection', 'close');
}

/** @returns whether all is read. */
async function discard(request: IncomingMessage): Promise<boolean> {
  let unreadBytes = 0;
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    unreadBytes += chunk.length;
    if (unreadBytes > maxUnreadBytes) return false;
  }
  return true;
}
