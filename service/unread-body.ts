import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import { maxBodyBytes } from './json-body.ts';
import { orAborted } from './or-aborted.ts';

/** Most of a body that is refused for its size is read, too. */
const maxUnreadBytes = 2 * maxBodyBytes;

/** A client that sends nothing for this long gets its answer before the rest has arrived. */
const maxIdleMs = 2_000;

/**
 * Reads the part of a request's body that the rest of an application leaves, before the answer is sent. Otherwise Node closes
 * the connection while the body is still arriving, the kernel answers that with a reset, and the client fails to write before
 * it has read why it was refused.
 */
export async function readUnread(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  await next();
  const idle = new AbortController();
  const timer = setTimeout(() => {
    idle.abort();
  }, maxIdleMs);
  const discarded = discard(ctx.req, () => timer.refresh());
  const isRead = await orAborted(discarded, idle.signal).catch(() => false);
  clearTimeout(timer);
  if (!isRead) ctx.set('Connection', 'close');
}

/**
 * @param onChunk - called for each part of the body.
 * @returns whether all is read.
 */
async function discard(request: IncomingMessage, onChunk: () => void): Promise<boolean> {
  let unreadBytes = 0;
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    onChunk();
    unreadBytes += chunk.length;
    if (unreadBytes > maxUnreadBytes) return false;
  }
  return true;
}
