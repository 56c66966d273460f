import type { DocMismatch, NsMismatch } from '../../sync-api/json.ts';
import type { MismatchView } from '../compare/mismatch.ts';
import type { LastingMismatch } from '../store/mismatch-store.ts';
import { relaxedForm } from './relaxed-form.ts';

/** What a difference is in the words of migration-verifier. */
interface Form {
  readonly type: DocMismatch['type'];
  /** Of a namespace; undefined for a document. */
  readonly aspect?: NsMismatch['aspect'];
}

const forms: Readonly<Record<MismatchView['kind'], Form>> = {
  missingDocument: { type: 'missingOnDst' },
  extraDocument: { type: 'extraOnDst' },
  differentDocument: { type: 'content' },
  fieldOrder: { type: 'content' },
  documentOrder: { type: 'content' },
  missingNamespace: { type: 'missingOnDst', aspect: 'exist' },
  extraNamespace: { type: 'extraOnDst', aspect: 'exist' },
  namespaceType: { type: 'content', aspect: 'type' },
  options: { type: 'content', aspect: 'spec' },
  missingIndex: { type: 'missingOnDst', aspect: 'index' },
  extraIndex: { type: 'extraOnDst', aspect: 'index' },
  differentIndex: { type: 'content', aspect: 'index' },
  shardKey: { type: 'content', aspect: 'shard key' },
  zone: { type: 'content', aspect: 'zone' },
};

/** The type of a difference in the words of migration-verifier. */
export function typeOf(kind: MismatchView['kind']): DocMismatch['type'] {
  return forms[kind].type;
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
    aspect: forms[kind].aspect ?? 'exist',
    ...(component !== undefined && { component }),
    ...(text !== '' && { detail: text }),
  };
}
