import { SyncError } from '../../service/errors.ts';
import { genericErrorBody, progressErrorBody, type Route } from '../../service/http-server.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { Verifier } from '../verifier.ts';
import { progressBody } from './progress.ts';

/** The endpoints of the verifier. */
export function verifierRoutes(verifier: Verifier, monitor: VerifierMonitor): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/check',
      errorBody: genericErrorBody,
      handle: (body) => {
        requireEmpty(body);
        verifier.check();
        return { success: true };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/writesOff',
      errorBody: genericErrorBody,
      handle: (body) => {
        requireEmpty(body);
        return verifier.setWritesOff() ? { success: true } : { error: 'writesOff already set' };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/progress',
      errorBody: progressErrorBody,
      handle: () => progressBody(verifier.state, monitor),
    },
  ];
}

function requireEmpty(body: unknown): void {
  const [field] = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  if (field !== undefined) {
    throw new SyncError('InvalidBody', `the body is {}, without ${JSON.stringify(field)}`);
  }
}
