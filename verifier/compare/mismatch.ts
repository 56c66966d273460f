import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { idText, type IdKey } from './id-key.ts';

/** A document that differs between the two sides. */
export interface DocumentDifference {
  readonly kind: 'missingDocument' | 'extraDocument' | 'differentDocument' | 'documentOrder';
  readonly id: IdKey;
  /** The `_id` on the destination, where the two are one key to the server but not the same bytes (1 and 1.0). */
  readonly destinationId?: IdKey;
  /** Path of the first field that differs. */
  readonly field?: string;
  readonly detail?: string;
}

/** A namespace whose existence, kind, options, indexes or shard key differ between the two sides. */
export interface MetadataDifference {
  readonly kind:
    | 'missingNamespace'
    | 'extraNamespace'
    | 'namespaceType'
    | 'options'
    | 'missingIndex'
    | 'extraIndex'
    | 'differentIndex'
    | 'shardKey'
    | 'zone';
  /** Name of the index. */
  readonly index?: string;
  /** Path of the first option that differs; of a zone its name. */
  readonly field?: string;
  readonly detail?: string;
}

/** A difference as the API shows it. Of a document's values it tells the `_id` alone. */
export interface MismatchView {
  readonly namespace: string;
  readonly kind: DocumentDifference['kind'] | MetadataDifference['kind'];
  /** The document's `_id` in canonical EJSON. */
  readonly id?: string;
  readonly index?: string;
  readonly field?: string;
  readonly detail?: string;
}

/** Makes a difference fit to be shown. */
export function mismatchView(
  namespace: Namespace,
  difference: DocumentDifference | MetadataDifference,
): MismatchView {
  const { kind, field, detail } = difference;
  return {
    namespace: namespaceText(namespace),
    kind,
    ...('id' in difference ? { id: idText(difference.id) } : {}),
    ...('index' in difference ? { index: difference.index } : {}),
    ...(field === undefined ? {} : { field }),
    ...(detail === undefined ? {} : { detail }),
  };
}
