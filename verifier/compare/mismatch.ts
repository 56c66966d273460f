import type * as json from '../../sync-api/json.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { idText, type IdKey } from './id-key.ts';

/** What a difference is in the words of migration-verifier. */
interface Form {
  readonly type: json.DocMismatch['type'];
  /** Of a namespace; null for a document. */
  readonly aspect: json.NsMismatch['aspect'] | null;
}

const ofDocument = { aspect: null } as const;

/** Every kind of difference. */
export const mismatchForms = {
  missingDocument: { ...ofDocument, type: 'missingOnDst' },
  extraDocument: { ...ofDocument, type: 'extraOnDst' },
  differentDocument: { ...ofDocument, type: 'content' },
  /** The same fields and values, in another order. */
  fieldOrder: { ...ofDocument, type: 'content' },
  /** In another place in a capped collection. */
  documentOrder: { ...ofDocument, type: 'content' },
  missingNamespace: { aspect: 'exist', type: 'missingOnDst' },
  extraNamespace: { aspect: 'exist', type: 'extraOnDst' },
  namespaceType: { aspect: 'type', type: 'content' },
  options: { aspect: 'spec', type: 'content' },
  missingIndex: { aspect: 'index', type: 'missingOnDst' },
  extraIndex: { aspect: 'index', type: 'extraOnDst' },
  differentIndex: { aspect: 'index', type: 'content' },
  shardKey: { aspect: 'shard key', type: 'content' },
  zone: { aspect: 'zone', type: 'content' },
} as const satisfies Readonly<Record<MismatchView['kind'], Form>>;

type Forms = typeof mismatchForms;

/** The kinds with some aspect: null for those of a document. */
type KindWith<Aspect> = {
  [Kind in keyof Forms]: Forms[Kind]['aspect'] extends Aspect ? Kind : never;
}[keyof Forms];

/** A document that differs between the two sides. */
export interface DocumentDifference {
  readonly kind: KindWith<null>;
  readonly id: IdKey;
  /** The `_id` on the destination, if the server treats the two as one key although their bytes differ (1 and 1.0). */
  readonly destinationId?: IdKey;
  /** Path of the first field that differs. */
  readonly field?: string;
  readonly detail?: string;
  readonly sourceType?: string;
  readonly destinationType?: string;
  readonly sourceValue?: string;
  readonly destinationValue?: string;
}

/** A namespace whose existence, kind, options, indexes or shard key differ between the two sides. */
export interface MetadataDifference {
  readonly kind: KindWith<string>;
  /** Name of the index. */
  readonly index?: string;
  /** Path of the option that differs: each field of an index, or the first of a collection; for a zone, its name. */
  readonly field?: string;
  readonly detail?: string;
}

/** A difference as the API shows it. Of a document's values it shows only the `_id`, unless more was requested. */
export type MismatchView = json.Mismatch;

/** A difference as stored. */
export interface Mismatch {
  readonly view: MismatchView;
  /** Its subject: the same whenever it is found again. */
  readonly subject: string;
}

/** Makes a difference fit to be stored and shown. */
export function mismatchOf(
  namespace: Namespace,
  difference: DocumentDifference | MetadataDifference,
): Mismatch {
  const { kind, field, detail } = difference;
  const common = {
    namespace: namespaceText(namespace),
    kind,
    ...(field === undefined ? {} : { field }),
    ...(detail === undefined ? {} : { detail }),
  };
  if (!('id' in difference)) {
    const { index } = difference;
    return {
      view: { ...common, ...(index === undefined ? {} : { index }) },
      subject: JSON.stringify([kind, index, field]),
    };
  }
  const { id, sourceType, destinationType, sourceValue, destinationValue } = difference;
  return {
    view: {
      ...common,
      id: idText(id),
      ...(sourceType === undefined ? {} : { sourceType }),
      ...(destinationType === undefined ? {} : { destinationType }),
      ...(sourceValue === undefined ? {} : { sourceValue }),
      ...(destinationValue === undefined ? {} : { destinationValue }),
    },
    subject: JSON.stringify([kind, id]),
  };
}
