import { isTakenLiterally } from '../../mongo/literal-documents.ts';
import { RawWriter, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { placedQuery } from '../../mongo/document-key.ts';
import type { DocumentWrite } from './coalesce.ts';

/** How statements name documents. */
export interface StatementSettings {
  /** An update of what is at the id on every shard: under a collation the server refuses to look for one document there. */
  readonly isMulti: boolean;
  /** Of a collection that is sharded on the source; null for others. */
  readonly shardKey: ShardKey | null;
}

/** A statement of the update command, as bytes: an upsert of a whole document, or the oplog's own difference. */
export function updateStatement(
  write: DocumentWrite,
  { isMulti, shardKey }: StatementSettings,
): RawDocument {
  const { id } = write.key;
  // With its shard key it is the one document that the change was of: not another of its id, to which it has been moved.
  const query = shardKey === null ? undefined : placedQuery(write.key, shardKey);
  if (write.kind === 'update') {
    const writer = new RawWriter(write.diff.length + (query ?? id).length + 128);
    writeQuery(writer, id, query)
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
  const writer = new RawWriter(write.document.length + (query ?? id).length + 128);
  writeQuery(writer, id, query);
  if (isTakenLiterally(write.document)) {
    writer.document('u', write.document);
  } else {
    writer.literalReplacement('u', write.document);
  }
  return writer.boolean('upsert', true).finish();
}

function writeQuery(writer: RawWriter, id: RawElement, query: RawDocument | undefined): RawWriter {
  return query ? writer.document('q', query) : writer.begin('q').value('_id', id).end();
}
