import { isNotFound, KubeError } from '../../../operator/kube/kube-error.ts';
import { until } from '../../ground/until.ts';

/** Waits until the API server serves a resource whose definition it has taken. */
export async function untilServed(what: string, ask: () => Promise<unknown>): Promise<void> {
  await until(`${what} are served`, async () => {
    try {
      await ask();
      return true;
    } catch (error) {
      // 429: the API server is preparing the storage of the new resource.
      if (isNotFound(error) || (error instanceof KubeError && error.statusCode === 429))
        return false;
      throw error;
    }
  });
}
