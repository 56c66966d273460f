import type { ReportedProgress } from '../../sync-api/syncer-answers.ts';
import type { ReportedMismatch, ReportedVerification } from '../../sync-api/verifier-answers.ts';
import type { InstanceView, MismatchView, VerificationView } from './sync-view.ts';

/* The parts of the page that depend only on the answer of one program. Unknown values are null. */

type InstanceFigures = Pick<
  InstanceView,
  'state' | 'info' | 'copiedBytes' | 'lagSeconds' | 'eventsApplied'
>;

type VerificationFigures = Pick<
  VerificationView,
  'generation' | 'documentsCompared' | 'documentsHashed' | 'documentsDone' | 'documentsTotal'
>;

/** The figures of one process of a sync; undefined if it has not reported any. */
export function instanceFigures(reported: ReportedProgress | undefined): InstanceFigures {
  return {
    state: reported?.state ?? null,
    info: reported?.info ?? null,
    copiedBytes: reported?.estimatedCopiedBytes ?? null,
    lagSeconds: reported?.lagTimeSeconds ?? null,
    eventsApplied: reported?.totalEventsApplied ?? null,
  };
}

/** The figures of a verification; undefined if its verifier has not reported any. */
export function verificationFigures(
  reported: ReportedVerification | undefined,
): VerificationFigures {
  return {
    generation: reported?.generation ?? null,
    documentsCompared: reported?.documentsCompared ?? null,
    documentsHashed: reported?.documentsHashed ?? null,
    documentsDone: reported?.generationStats.documentsCompared ?? null,
    documentsTotal: reported?.generationStats.documentsTotal ?? null,
  };
}

/** A difference without document contents: `_id`s and values are left out. */
export function mismatchView(reported: ReportedMismatch): MismatchView {
  const { namespace, kind, index = null, field = null, detail = null } = reported;
  return { namespace, kind, index, field, detail };
}
