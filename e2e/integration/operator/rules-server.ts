import assert from 'node:assert/strict';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { isInvalid, KubeError } from '../../../operator/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { installDefinitions } from './custom-resources.ts';

export const namespace = 'default';
export const signal: AbortSignal = new AbortController().signal;

/** A real API server that knows the custom resources, for the tests of a suite. */
export class RulesServer {
  #client: KubeClient | undefined;
  #counter = 0;

  /** Starts it before the tests of the suite that this is called in. */
  static use(): RulesServer {
    const server = new RulesServer();
    useApiServer(async (_server, client) => {
      server.#client = client;
      await installDefinitions(client);
    });
    return server;
  }

  get client(): KubeClient {
    assert.ok(this.#client, 'the API server does not run yet');
    return this.#client;
  }

  async create<T extends KubeObject>(resource: Resource<T>, spec: object): Promise<T> {
    this.#counter += 1;
    const object = { metadata: { namespace, name: `object-${this.#counter}` }, spec };
    return (await this.client.create<KubeObject>(resource, object, { signal })) as T;
  }

  async change(object: KubeObject, resource: Resource<KubeObject>, spec: object): Promise<void> {
    await this.client.patch(resource, object.metadata, { spec }, { signal });
  }
}

/** Waits until a request is refused as invalid, with messages that match. */
export async function refused(attempt: Promise<unknown>, ...expected: RegExp[]): Promise<void> {
  await assert.rejects(attempt, (error) => {
    assert.ok(error instanceof KubeError && isInvalid(error), String(error));
    for (const pattern of expected) assert.match(error.message, pattern);
    return true;
  });
}
