import assert from 'node:assert/strict';
import { startHttpServer } from '../../service/testing/http-server.ts';
import { apiTargetAt } from '../operand/http-api.ts';
import { syncerApi } from './syncer-client.ts';

const { signal } = new AbortController();

describe('a command to a syncer', () => {
  it('is not sent where it may not be any longer once connected', async () => {
    const received: (string | undefined)[] = [];
    await using server = await startHttpServer((request, response) => {
      received.push(request.url);
      response.end('{"success": true}');
    });
    const target = apiTargetAt({ ip: '127.0.0.1', port: server.port }, 'token', undefined);
    const late = (): void => {
      throw new Error('late');
    };
    const outcomeOf = async (name: 'commit' | 'pause', assertMaySend: () => void) =>
      await syncerApi.sendCommand(target, { name, body: {} }, { assertMaySend, signal });
    const outcome = await outcomeOf('commit', late);
    assert.ok(outcome.kind === 'refused');
    assert.match(outcome.error.description, /late/);
    const next = await outcomeOf('pause', () => undefined);
    assert.equal(next.kind, 'taken');
    assert.deepEqual(received, ['/api/v1/pause']);
  });
});
