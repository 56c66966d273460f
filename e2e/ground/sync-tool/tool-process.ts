// Sync tools at some addresses of the loopback network, all on one port. It tells its parent of each command that comes,
// and ends with it.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { dialects, unknownPath, type ToolAnswer } from './dialects.ts';
import { SyncTool } from './sync-tool.ts';
import type { ToolMessage, ToolRequest, ToolSetup } from './sync-tools.ts';

const setup = JSON.parse(process.argv[2] ?? '') as ToolSetup;
const dialect = dialects[setup.dialect];
const { initializingMs = dialect.initializingMs } = setup;

function tell(message: ToolMessage): void {
  process.send?.(message);
}

process.on('disconnect', () => {
  process.exit();
});
const tools = new Map<string, SyncTool>();
process.on('message', (message) => {
  const request = message as ToolRequest;
  if ('forget' in request) tools.delete(request.forget);
  else toolAt(request.skip).skip(request.ms);
});
for (const [index, address] of setup.addresses.entries()) {
  const id = setup.ids?.[index] ?? 'old';
  const server = createServer((request, response) => {
    void serve(toolAt(address), id, address, request, response);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(setup.port, address);
  await once(server, 'listening');
}
tell({ kind: 'ready' });

function toolAt(address: string): SyncTool {
  const tool =
    tools.get(address) ??
    new SyncTool({ initializingMs, copyMs: setup.copyMs, turnMs: setup.turnMs });
  tools.set(address, tool);
  return tool;
}

async function serve(
  tool: SyncTool,
  id: string,
  address: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await text(request).catch(() => undefined);
  if (body === undefined) return;
  const { status, body: answer } = answerTo(tool, id, address, request, body);
  const isText = typeof answer === 'string';
  response.writeHead(status, { 'Content-Type': isText ? 'text/plain' : 'application/json' });
  response.end(isText ? answer : JSON.stringify(answer));
}

function answerTo(
  tool: SyncTool,
  id: string,
  address: string,
  { method, url }: IncomingMessage,
  body: string,
): ToolAnswer {
  const [, name = ''] = /^\/api\/v1\/(\w+)$/.exec(url ?? '') ?? [];
  if (method === 'GET' && name === 'progress') {
    tell({ kind: 'poll' });
    return dialect.progress(tool.ask(), id);
  }
  if (method !== 'POST' || !dialect.commands.includes(name)) return unknownPath();
  // All commands need a body, be it an empty object.
  if (!body.startsWith('{')) return { status: 400, body: { error: 'unexpected end of JSON' } };
  const outcome = tool.take(name);
  if (outcome === undefined) return unknownPath();
  const isTaken = outcome === 'taken';
  const atMs = performance.timeOrigin + performance.now();
  tell({ kind: 'command', address, name, atMs, isTaken });
  return isTaken ? { status: 200, body: { success: true } } : dialect.refuse(outcome);
}
