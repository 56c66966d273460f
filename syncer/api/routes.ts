import type { IncomingHttpHeaders } from 'node:http';
import { genericErrorBody, progressErrorBody, type Route } from '../../service/http-server.ts';
import { booleanIn, requireKnown } from '../../service/query-parameters.ts';
import {
  deploymentHeader,
  destinationHeader,
  optionsDigestHeader,
} from '../../sync-api/headers.ts';
import type {
  CheckAnswer,
  CollectionPage,
  Success,
  SyncerProgressAnswer,
  TopologyAnswer,
} from '../../sync-api/json.ts';
import type { Syncer } from '../lifecycle/syncer.ts';

/** How many collections /api/v1/collections shows: it is meant for people. */
const maxCollectionsShown = 100;

const commands = ['start', 'pause', 'resume', 'reverse', 'repair', 'limits', 'reset'] as const;

/** The endpoints of the contract, part 4, and those of pause, resume, reverse, repair, limits and reset, in the same form. */
export function syncerRoutes(
  syncer: Pick<
    Syncer,
    | (typeof commands)[number]
    | 'commit'
    | 'preflight'
    | 'check'
    | 'monitor'
    | 'progress'
    | 'optionsDigest'
    | 'destination'
    | 'topology'
  >,
): Route[] {
  return [
    ...commands.map((command): Route => ({
      method: 'POST',
      path: `/api/v1/${command}`,
      errorBody: genericErrorBody,
      handle: async (body, _query, { headers }): Promise<Success> => {
        await syncer[command](body, digestIn(headers));
        return { success: true };
      },
    })),
    {
      method: 'POST',
      path: '/api/v1/commit',
      errorBody: genericErrorBody,
      handle: async (body, _query, { headers, gone }): Promise<Success> => {
        await syncer.commit(body, digestIn(headers), gone);
        return { success: true };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/preflight',
      errorBody: genericErrorBody,
      handle: async (body): Promise<Success> => {
        await syncer.preflight(body);
        return { success: true };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/check',
      errorBody: genericErrorBody,
      handle: async (body, query, { gone }): Promise<CheckAnswer> => {
        requireKnown(query, ['measureCopy']);
        const settings = { measuresCopy: booleanIn(query, 'measureCopy') };
        return await syncer.check(body, settings, gone);
      },
    },
    {
      method: 'GET',
      path: '/api/v1/collections',
      errorBody: genericErrorBody,
      handle: (): CollectionPage => syncer.monitor.copyTally.page(maxCollectionsShown),
    },
    {
      method: 'GET',
      path: '/api/v1/topology',
      errorBody: genericErrorBody,
      handle: async (): Promise<TopologyAnswer> => await syncer.topology(),
    },
    {
      method: 'GET',
      path: '/api/v1/progress',
      errorBody: progressErrorBody,
      handle: (): SyncerProgressAnswer => syncer.progress(),
      answerHeaders: () => {
        const digest = syncer.optionsDigest();
        const destination = syncer.destination();
        return {
          ...(digest !== undefined && { [optionsDigestHeader]: digest }),
          ...(destination && {
            [destinationHeader]: encodeURI(destination.hosts),
            [deploymentHeader]: destination.deployment,
          }),
        };
      },
    },
  ];
}

/** Which sync a command is for; undefined if it does not say. A header that is sent twice matches no sync. */
function digestIn(headers: IncomingHttpHeaders): string | undefined {
  const digest = headers[optionsDigestHeader.toLowerCase()];
  return Array.isArray(digest) ? digest.join() : digest;
}
