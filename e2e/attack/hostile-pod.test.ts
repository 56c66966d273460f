import assert from 'node:assert/strict';
import { ApiClient } from '../../cli/api/api-client.ts';
import { SyncerApi } from '../../cli/api/syncer-api.ts';
import {
  syncerApi,
  type SyncerCommand,
  type SyncerProgress,
} from '../../operator/clustersync/syncer-client.ts';
import { apiTargetAt, callOperand } from '../../operator/operand/http-api.ts';
import { OperandMonitor } from '../../operator/operand/monitor.ts';
import { createLogger } from '../../service/logger.ts';
import { startHttpServer, type HttpServer } from '../../service/testing/http-server.ts';
import { until } from '../ground/until.ts';

/** What somebody's own image may answer in place of a syncer. */
const answers = {
  'levels of lists': `{"progress": {"state": "IDLE", "info": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
  'levels of objects': `{"progress": {"state": "IDLE", "info": ${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}}`,
  'levels of errors': `{"error": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  'no JSON': '{"progress": {"state"',
  'a text': '"IDLE"',
  'a progress that is none': '{"progress": [1, 2]}',
  'a progress without a state': '{"progress": {"canCommit": false}}',
  'nothing at all': '{}',
} as const;

/** A server that answers for as long as somebody listens. @param onSent - told how much was sent so far. */
async function answeringWithoutEnd(onSent: (bytes: number) => void) {
  const hungUp = Promise.withResolvers<undefined>();
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const server = await startHttpServer((_request, response) => {
    let bytes = 0;
    const send = (): void => {
      while (!response.destroyed) {
        bytes += chunk.length;
        onSent(bytes);
        if (!response.write(chunk)) break;
      }
    };
    response.on('drain', send).on('close', () => {
      hungUp.resolve(undefined);
    });
    response.write('{"progress":{"state":"IDLE","info":"');
    send();
  });
  return { ...server, hungUp: hungUp.promise };
}

describe('a hostile pod', () => {
  let server: HttpServer;
  let body = '';
  let asked = 0;

  before(async () => {
    server = await startHttpServer((_request, response) => {
      asked += 1;
      response.setHeader('Content-Type', 'application/json');
      response.end(body);
    });
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  for (const [what, answer] of Object.entries(answers)) {
    it(`is asked again, and counts as one that does not answer: ${what}`, async () => {
      body = answer;
      asked = 0;
      await using monitor = new OperandMonitor<SyncerProgress, SyncerCommand>({
        mayCommand: () => true,
        api: { ...syncerApi, intervalMs: () => 10 },
        onChange: () => undefined,
        logger: createLogger('test', 'fatal'),
      });
      const target = apiTargetAt({ ip: '127.0.0.1', port: server.port }, 'token', undefined);
      monitor.watch('a', new Map([['one', { ...target, process: 'a' }]]));
      await until('it is asked three times', () => asked >= 3);
      const observation = monitor.observations('a').get('one');
      assert.equal(observation?.answer, undefined);
      assert.match(observation?.unreachable?.description ?? '', /neither progress nor error/);
    });
  }

  it('is hung up on after 256 KiB of an answer without end', async () => {
    let sentBytes = 0;
    await using endless = await answeringWithoutEnd((bytes) => {
      sentBytes = bytes;
    });
    const target = apiTargetAt({ ip: '127.0.0.1', port: endless.port }, 'token', undefined);
    const { signal } = new AbortController();
    const answer = await syncerApi.askProgress(target, signal);
    assert.equal(answer.kind, 'unreachable');
    assert.match(answer.description, /larger than 262144 bytes/);
    await endless.hungUp;
    // What was under way then is in the buffers of both sockets.
    assert.ok(sentBytes < 16 * 1024 * 1024, String(sentBytes));
  });

  for (const [what, piece] of [
    ['says nothing', ''],
    ['says a little from time to time', '{'],
  ] as const) {
    it(`is given up when its time is over: one that ${what}`, async () => {
      const hungUp = Promise.withResolvers<undefined>();
      await using slow = await startHttpServer((_request, response) => {
        const timer = setInterval(() => {
          if (piece !== '') response.write(piece);
        }, 20);
        response.on('close', () => {
          clearInterval(timer);
          hungUp.resolve(undefined);
        });
      });
      const target = apiTargetAt({ ip: '127.0.0.1', port: slow.port }, 'token', undefined);
      const request = { method: 'GET', path: '/api/v1/progress', deadlineMs: 200 } as const;
      const answer = await callOperand(target, request, new AbortController().signal);
      assert.deepEqual(answer, { kind: 'unreachable', description: 'no answer within 200 ms' });
      await hungUp.promise;
    });
  }

  it('is hung up on after 16 KiB of an answer to a command', async () => {
    await using endless = await answeringWithoutEnd(() => undefined);
    const target = apiTargetAt({ ip: '127.0.0.1', port: endless.port }, 'token', undefined);
    const { signal } = new AbortController();
    const command = { name: 'pause', body: {} } as const;
    const how = { assertMaySend: () => undefined, signal };
    const outcome = await syncerApi.sendCommand(target, command, how);
    assert.ok(outcome.kind === 'refused' && outcome.error.isUnanswered === true);
    assert.match(outcome.error.description, /larger than 16384 bytes/);
    await endless.hungUp;
  });

  for (const [what, answer] of Object.entries(answers)) {
    it(`is no clustersync for the command line: ${what}`, async () => {
      body = answer;
      const url = `http://127.0.0.1:${server.port}`;
      const api = new SyncerApi(new ApiClient(() => ({ url, apiToken: undefined })));
      const signal = AbortSignal.timeout(30_000);
      await assert.rejects(api.progress(signal), { name: 'ToolUnreachable' });
      await assert.rejects(api.command('commit', signal), { name: 'ToolUnreachable' });
    });
  }
});
