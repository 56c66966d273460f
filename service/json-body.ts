import type { Context } from 'koa';
import { SyncError } from './errors.ts';
import { levelsOf } from './json-text.ts';

/** The size limit of a body. */
export const maxBodyBytes = 1024 * 1024;

/** More levels than any request has; recursive functions on a body can handle this many. */
const maxLevels = 64;

/** curl sends form-urlencoded by default, and mongosync's documentation uses it that way: the body is JSON anyway. */
const acceptedTypes = ['application/json', 'application/x-www-form-urlencoded'];

/**
 * Reads the body of a request.
 * @throws SyncError UnsupportedContentType, BodyTooLarge; InvalidJSON if it is not a JSON object, or has too many levels.
 */
export async function readJson(ctx: Context): Promise<object> {
  const type = ctx.get('Content-Type');
  if (type !== '' && !ctx.is(...acceptedTypes) && ctx.get('Content-Length') !== '0') {
    throw new SyncError('UnsupportedContentType', 'the body is not application/json');
  }
  const text = await readBody(ctx);
  if (levelsOf(text) > maxLevels) {
    throw new SyncError('InvalidJSON', `the body has more than ${maxLevels} levels`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new SyncError('InvalidJSON', text === '' ? 'the body is empty' : 'the body is not JSON', {
      cause: error,
    });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new SyncError('InvalidJSON', 'the body is not a JSON object');
  }
  return parsed;
}

async function readBody(ctx: Context): Promise<string> {
  const tooLarge = (): SyncError =>
    new SyncError('BodyTooLarge', `the body is larger than ${maxBodyBytes} bytes`);
  if (Number(ctx.get('Content-Length')) > maxBodyBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    const received = ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of received) {
      length += chunk.length;
      if (length > maxBodyBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof SyncError) throw error;
    throw new SyncError('InvalidJSON', 'the client disconnected while sending the body', {
      cause: error,
    });
  }
  return Buffer.concat(chunks).toString('utf8');
}
