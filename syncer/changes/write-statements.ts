import { isTakenLiterally } from '../../mongo/literal-documents.ts';
import { RawWriter, type RawDocument } from '../../mongo/raw-bson.ts';
import type { DocumentWrite } from './coalesce.ts';

/**
 * A statement of the update command, as bytes: an upsert of a whole document, or the oplog's own difference.
 * @param isMulti - an update of what is at the id on every shard: under a collation the server refuses to look for one
 * document there (6.0.5).
 */
export function updateStatement(
  write: DocumentWrite,
  { isMulti }: { readonly isMulti: boolean },
): RawDocument {
  const { id } = write.key;
  if (write.kind === 'update') {
    const { placed } = write.key;
    const writer = new RawWriter(write.diff.length + (placed ?? id).length + 128);
    // With its shard key it is the update of a document that was there: another one of the same id, to which it was moved, is left alone.
    if (placed) writer.document('q', placed);
    else writer.begin('q').value('_id', id).end();
    writer
      .beginArray('u')
      .begin('0')
      .begin('$_internalApplyOplogUpdate')
      .begin('oplogUpdate')
      .int32('$v', 2)
      .value('diff', write.diff)
      .end()
      .end()
      .end()
      .end();
    if (isMulti) writer.boolean('multi', true);
    return writer.finish();
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
