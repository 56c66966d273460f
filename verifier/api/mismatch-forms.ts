import type { DocMismatch, NsMismatch } from '../../sync-api/json.ts';
import { mismatchForms, type MismatchView } from '../compare/mismatch.ts';
import type { LastingMismatch } from '../store/mismatch-store.ts';
import { relaxedForm } from './relaxed-form.ts';

/** The type of a difference in the words of migration-verifier. */
export function typeOf(kind: MismatchView['kind']): DocMismatch['type'] {
  return mismatchForms[kind].type;
}

/** A difference of a document. */
export function docMismatch({ view, durationMs }: LastingMismatch): DocMismatch {
  const { kind, namespace, id, field, detail } = view;
  return {
    type: typeOf(kind),
    namespace,
    ...(id !== undefined && { _id: relaxedForm(id) }),
    ...(field !== undefined && { field }),
    ...(detail !== undefined && { detail }),
    durationSecs: durationMs / 1000,
  };
}

/** A difference of a namespace. */
export function nsMismatch({ view }: LastingMismatch): NsMismatch {
  const { kind, namespace, index, field, detail } = view;
  const component = index ?? field;
  // The field within an index has no place of its own.
  const explained = index !== undefined && field !== undefined ? [field, detail] : [detail];
  const text = explained.filter((part) => part !== undefined).join(': ');
  return {
    type: typeOf(kind),
    namespace,
    aspect: mismatchForms[kind].aspect ?? 'exist',
    ...(component !== undefined && { component }),
    ...(text !== '' && { detail: text }),
  };
}
