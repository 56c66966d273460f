import assert from 'node:assert/strict';
import { messageOf } from '../service/errors.ts';
import { startHttpServer } from '../service/testing/http-server.ts';
import { callApi, type ApiRequest } from './http-client.ts';

const { signal } = new AbortController();

describe('callApi', () => {
  it('sends nothing where that may not be sent any longer once it is connected', async () => {
    const received: (string | undefined)[] = [];
    await using server = await startHttpServer((request, response) => {
      received.push(request.url);
      response.end('{}');
    });
    const target = { baseUrl: server.url, token: undefined, trust: undefined };
    const request: ApiRequest = {
      ...{ method: 'POST', path: '/api/v1/commit', body: {}, maxAnswerBytes: 1_000 },
      assertMaySend: () => {
        throw new Error('late');
      },
    };
    const answer = await callApi(target, request, signal);
    assert.ok(answer.kind === 'unreachable');
    assert.equal(messageOf(answer.error), 'late');
    // A request that was sent all the same would have arrived before this one.
    const next = await callApi(
      target,
      { ...request, path: '/api/v1/pause', assertMaySend: () => undefined },
      signal,
    );
    assert.equal(next.kind, 'answer');
    assert.deepEqual(received, ['/api/v1/pause']);
  });
});
