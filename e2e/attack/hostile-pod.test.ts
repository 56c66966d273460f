import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiClient } from '../../cli/api/api-client.ts';
import { SyncerApi } from '../../cli/api/syncer-api.ts';
import {
  syncerApi,
  type SyncerCommand,
  type SyncerProgress,
} from '../../operator/clustersync/syncer-client.ts';
import { apiTargetAt } from '../../operator/operand/http-api.ts';
import { OperandMonitor } from '../../operator/operand/monitor.ts';
import { createLogger } from '../../service/logger.ts';
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

describe('a hostile pod', () => {
  let server: Server;
  let body = '';
  let asked = 0;

  before(async () => {
    server = createServer((_request, response) => {
      asked += 1;
      response.setHeader('Content-Type', 'application/json');
      response.end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  after(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });

  const port = (): number => (server.address() as AddressInfo).port;

  for (const [what, answer] of Object.entries(answers)) {
    it(`is asked again, and counts as one that does not answer: ${what}`, async () => {
      body = answer;
      asked = 0;
      await using monitor = new OperandMonitor<SyncerProgress, SyncerCommand>({
        api: { ...syncerApi, intervalMs: () => 10 },
        onChange: () => undefined,
        logger: createLogger('test', 'fatal'),
      });
      const target = apiTargetAt({ ip: '127.0.0.1', port: port() }, 'token', undefined);
      monitor.watch('a', new Map([['one', { ...target, process: 'a' }]]));
      await until('it is asked three times', () => asked >= 3);
      const observation = monitor.observations('a').get('one');
      assert.equal(observation?.answer, undefined);
      assert.match(observation?.unreachable?.description ?? '', /neither progress nor error/);
    });
  }

  for (const [what, answer] of Object.entries(answers)) {
    it(`is no clustersync for the command line: ${what}`, async () => {
      body = answer;
      const url = `http://127.0.0.1:${port()}`;
      const api = new SyncerApi(new ApiClient(() => ({ url, apiToken: undefined })));
      const signal = AbortSignal.timeout(30_000);
      await assert.rejects(api.progress(signal), { name: 'ToolUnreachable' });
      await assert.rejects(api.command('commit', signal), { name: 'ToolUnreachable' });
    });
  }
});
