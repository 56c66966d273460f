import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { requestLimits } from '../../service/listening.ts';
import { plainServers } from './plain-servers.ts';

/** As the kubelet waits for a readiness probe. */
const probeMs = 2_000;
/** How much longer than its limit a connection may be held, on a busy machine. */
const graceMs = 8_000;

const requestLine = 'POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\n';

/** What comes at once, and how long it may take until all that follows it has come. */
const drips = {
  nothing: { start: '', limitMs: requestLimits.headersTimeout },
  'a head': { start: `${requestLine}X-Slow: `, limitMs: requestLimits.headersTimeout },
  'a body': {
    start: `${requestLine}Content-Length: 1000\r\n\r\n`,
    limitMs: requestLimits.requestTimeout,
  },
} as const;

describe('a client that sends a character a second', function () {
  this.timeout(60_000);

  const outcomes = new Map<string, Promise<Outcome>>();
  const stack = new AsyncDisposableStack();

  before(async () => {
    for (const [server, { path, start }] of Object.entries(plainServers)) {
      const { port } = stack.use(await start());
      for (const [what, { start: first }] of Object.entries(drips)) {
        const outcome = drip(port, first, path);
        outcome.catch(() => undefined);
        outcomes.set(`${what} to ${server}`, outcome);
      }
    }
  });

  after(async () => {
    await Promise.allSettled(outcomes.values());
    await stack.disposeAsync();
  });

  for (const server of Object.keys(plainServers))
    for (const [what, { limitMs }] of Object.entries(drips))
      it(`is hung up on, and keeps nobody waiting meanwhile: ${what} to ${server}`, async () => {
        const outcome = await outcomes.get(`${what} to ${server}`);
        assert.ok(outcome);
        assert.ok(outcome.heldMs < limitMs + graceMs, `held for ${outcome.heldMs} ms`);
        assert.ok(outcome.answered > 0 && outcome.answered === outcome.asked);
      });
});

interface Outcome {
  readonly heldMs: number;
  /** How many requests another client has sent in the meantime. */
  readonly asked: number;
  readonly answered: number;
}

/** Sends a character a second until the server hangs up. Each second another client asks. */
async function drip(port: number, first: string, path: string): Promise<Outcome> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.resume();
  await once(socket, 'connect');
  const startedMs = performance.now();
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(55_000) });
  if (first !== '') socket.write(first);
  const probes: Promise<boolean>[] = [];
  const timer = setInterval(() => {
    if (first !== '') socket.write('x');
    probes.push(isAnswered(`http://127.0.0.1:${port}${path}`));
  }, 1_000);
  try {
    await closed;
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
  const heldMs = performance.now() - startedMs;
  const answers = await Promise.all(probes);
  return { heldMs, asked: answers.length, answered: answers.filter(Boolean).length };
}

async function isAnswered(url: string): Promise<boolean> {
  const headers = { Connection: 'close' };
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(probeMs) });
  await answer.text();
  return answer.status === 200;
}
