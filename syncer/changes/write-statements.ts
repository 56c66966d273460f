import { isTakenLiterally } from '../../mongo/literal-documents.ts';
import { RawWriter, type RawDocument } from '../../mongo/raw-bson.ts';
import type { DocumentKey } from './change-event.ts';
import type { DocumentWrite } from './coalesce.ts';

/** A statement of the update command, as bytes: an upsert of a whole document, or the oplog's own difference. */
export function updateStatement(write: DocumentWrite): RawDocument {
  const { id } = write.key;
  if (write.kind === 'update') {
    return new RawWriter(write.diff.length + id.length + 128)
      .begin('q')
      .value('_id', id)
      .end()
      .beginArray('u')
      .begin('0')
      .begin('$_internalApplyOplogUpdate')
      .begin('oplogUpdate')
      .int32('$v', 2)
      .value('diff', write.diff)
      .end()
      .end()
      .end()
      .end()
      .finish();
  }
  const writer = new RawWriter(write.document.length + id.length + 128)
    .begin('q')
    .value('_id', id)
    .end();
  if (isTakenLiterally(write.document)) {
    writer.document('u', write.document);
  } else {
    writer.literalReplacement('u', write.document);
  }
  return writer.boolean('upsert', true).finish();
}

/** A statement of the delete command, as bytes. */
export function deleteStatement({ id }: DocumentKey): RawDocument {
  return new RawWriter(id.length + 64).begin('q').value('_id', id).end().int32('limit', 1).finish();
}
