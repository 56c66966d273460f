import { SyncError } from '../../service/errors.ts';
import { genericErrorBody, type Route } from '../../service/http-server.ts';
import { JsonLines } from '../../service/json-lines.ts';
import { requireKnown } from '../../service/query-parameters.ts';
import type { MismatchSummary, VerificationProgress } from '../../sync-api/json.ts';
import { maxListed, type LastingSummary } from '../store/lasting-mismatches.ts';
import {
  ignorableIndexFields,
  type IgnorableIndexField,
  type LastingMismatch,
} from '../store/mismatch-store.ts';
import type { Verifier } from '../verifier.ts';
import { docMismatch, nsMismatch, typeOf } from './mismatch-forms.ts';
import { progressBody } from './progress.ts';

/** The largest number that the original accepts. */
const maxSeconds = 2 ** 32 - 1;

/** The endpoints that migration-verifier has had since its later versions, in its forms. */
export function lastingRoutes(
  verifier: Pick<Verifier, 'lastingMismatches' | 'lastingSummary' | 'summary' | 'retryWarnings'>,
): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/docMismatches',
      errorBody: genericErrorBody,
      handle: (_body, query, { gone }): JsonLines => {
        const minDurationMs = minDurationOf(query) * 1000;
        const selection = { of: 'documents', minDurationMs } as const;
        return new JsonLines(mapped(verifier.lastingMismatches(selection, gone), docMismatch));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/nsMismatches',
      errorBody: genericErrorBody,
      handle: (_body, query, { gone }): JsonLines => {
        const selection = {
          of: 'namespaces',
          minDurationMs: 0,
          ignoredIndexFields: ignoredFieldsOf(query),
        } as const;
        return new JsonLines(mapped(verifier.lastingMismatches(selection, gone), nsMismatch));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/summary',
      errorBody: genericErrorBody,
      handle: async (_body, query): Promise<MismatchSummary> => {
        const seconds = minDurationOf(query);
        const { progress } = progressBody(await verifier.summary(), verifier.retryWarnings);
        return summaryBody(progress, await verifier.lastingSummary(seconds * 1000), seconds);
      },
    },
  ];
}

async function* mapped<T extends object>(
  mismatches: AsyncGenerator<LastingMismatch, void>,
  form: (mismatch: LastingMismatch) => T,
): AsyncGenerator<T, void> {
  for await (const mismatch of mismatches) yield form(mismatch);
}

/** The answer of GET /summary. Of what the original tells, it leaves out what is not kept. */
function summaryBody(
  progress: VerificationProgress,
  { ofNamespaces, namespaceKinds, ofDocuments }: LastingSummary,
  minDurationSecs: number,
): MismatchSummary {
  const total = ofDocuments.kinds.reduce((sum, { count }) => sum + count, 0);
  const namespaceTotal = namespaceKinds.reduce((sum, { count }) => sum + count, 0);
  const named = ofDocuments.namespaces.reduce((sum, { count }) => sum + count, 0);
  const byType: Partial<Record<ReturnType<typeof typeOf>, number>> = {};
  for (const { kind, count } of ofDocuments.kinds) {
    byType[typeOf(kind)] = (byType[typeOf(kind)] ?? 0) + count;
  }
  const notes = [
    ...(minDurationSecs > 0
      ? [`Filtering document mismatches by minimum duration (${minDurationSecs} seconds)`]
      : []),
    ...(namespaceTotal > ofNamespaces.length
      ? [`nsMismatches: the first ${ofNamespaces.length} of ${namespaceTotal}`]
      : []),
    ...(named < total ? [`byNamespace: the ${maxListed} namespaces with the most`] : []),
    ...progress.warnings,
  ];
  return {
    estCheckSecsRemaining: progress.phase === 'check' ? progress.generationStats.secondsLeft : null,
    nsMismatches: ofNamespaces.map(nsMismatch),
    docMismatches: {
      total,
      byType,
      byNamespace: Object.fromEntries(
        ofDocuments.namespaces.map(({ namespace, count }) => [namespace, count]),
      ),
    },
    ...(notes.length > 0 && { notes }),
  };
}

function minDurationOf(query: URLSearchParams): number {
  requireKnown(query, ['minDurationSecs']);
  const text = query.get('minDurationSecs') ?? '';
  if (text === '') return 0;
  const seconds = Number(text);
  if (/^\d+$/.test(text) && seconds <= maxSeconds) return seconds;
  throw new SyncError('InvalidBody', `minDurationSecs is a whole number from 0 to ${maxSeconds}`);
}

function ignoredFieldsOf(query: URLSearchParams): readonly IgnorableIndexField[] {
  requireKnown(query, ['indexSpecIgnore']);
  const text = query.get('indexSpecIgnore') ?? '';
  if (text === '') return [];
  return text.split(',').map((name) => {
    const field = ignorableIndexFields.find((ignorable) => ignorable === name);
    if (field !== undefined) return field;
    const known = ignorableIndexFields.join(' or ');
    throw new SyncError('InvalidBody', `indexSpecIgnore is ${known}, or both with a comma between`);
  });
}
