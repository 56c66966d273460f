import { genericErrorBody, progressErrorBody, type Route } from '../../service/http-server.ts';
import type { Syncer } from '../syncer.ts';

/** Collections that /api/v1/collections shows: it is for people. */
const maxCollectionsShown = 100;

const commands = ['start', 'pause', 'resume', 'commit', 'reverse', 'reset'] as const;

/** The endpoints of the contract, part 4, and those of pause, resume, reverse and reset, of the same shape. */
export function syncerRoutes(syncer: Pick<Syncer, 'commands' | 'monitor' | 'progress'>): Route[] {
  return [
    ...commands.map((command): Route => ({
      method: 'POST',
      path: `/api/v1/${command}`,
      errorBody: genericErrorBody,
      handle: async (body) => {
        await syncer.commands[command](body);
        return { success: true };
      },
    })),
    {
      method: 'POST',
      path: '/api/v1/preflight',
      errorBody: genericErrorBody,
      handle: async (body) => {
        await syncer.commands.preflight(body);
        return { success: true };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/collections',
      errorBody: genericErrorBody,
      handle: () => syncer.monitor.copyTally.page(maxCollectionsShown),
    },
    {
      method: 'GET',
      path: '/api/v1/progress',
      errorBody: progressErrorBody,
      handle: () => syncer.progress(),
    },
  ];
}
