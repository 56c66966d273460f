import assert from 'node:assert/strict';
import { readProgress } from '../../../sync-api/syncer-answers.ts';
import { readVerification } from '../../../sync-api/verifier-answers.ts';
import { combineProgress, type SyncProgress } from '../combine.ts';
import { verificationOf, type VerificationProgress } from '../verifier-api.ts';

/** A sync whose instances have given these answers. */
export function syncOf(...progresses: readonly object[]): SyncProgress {
  const sync = combineProgress(progresses.flatMap((progress) => readProgress(progress) ?? []));
  assert.ok(sync, 'a progress has a state');
  return sync;
}

/** A verification whose verifier has given this answer. */
export function verificationFrom(progress: object): VerificationProgress {
  const reported = readVerification(progress);
  assert.ok(reported, 'a progress has a phase');
  return verificationOf(reported);
}
