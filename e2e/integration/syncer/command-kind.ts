import { BSON, type Document } from 'mongodb';

const opMsg = 2013;

/** Where the document of a command begins: after the header (16 bytes), flags and the kind of section. */
const documentOffset = 21;

/** Commands that are of several kinds: what their bytes hold of each, the first that is found. */
const variants: Readonly<Record<string, readonly (readonly [needle: string, kind: string])[]>> = {
  aggregate: [
    ['$changeStream', 'aggregate $changeStream'],
    ['$currentOp', 'aggregate $currentOp'],
    ['$documents', 'aggregate $documents'],
    ['$querySettings', 'aggregate $querySettings'],
    ['$sample', 'aggregate $sample'],
  ],
  collStats: [['oplog.rs', 'collStats of local']],
  find: [['oplog.rs', 'find of local']],
  getMore: [['$cmd.aggregate', 'getMore of the change stream']],
};

/**
 * The kind of the command at the beginning of what a client sends: its name, and what it is for where the syncer sends
 * it for several things. Undefined for the rest of a long message, and for the monitoring of a server.
 */
export function commandKind(bytes: Buffer): string | undefined {
  // The header (16 bytes, the last four of them the kind of message), flags, the kind of section (0: a document), its
  // length, the type of its first field, and the name of that.
  if (bytes.length < 32 || bytes.readInt32LE(12) !== opMsg || bytes[20] !== 0) return undefined;
  const name = bytes.toString('latin1', 26, bytes.indexOf(0, 26));
  // Commands of monitoring and of logging in have no session.
  if (name === 'hello' && !bytes.includes('lsid')) return undefined;
  for (const [needle, kind] of variants[name] ?? []) if (bytes.includes(needle)) return kind;
  return bytes.includes('clustersync_internal') ? `${name} of the state` : name;
}

/** The command at the beginning of what a client sends, without documents that come after it in sections of their own. Undefined if it is cut off, or is none. */
export function commandOf(bytes: Buffer): Document | undefined {
  if (commandKind(bytes) === undefined) return undefined;
  const end = documentOffset + bytes.readInt32LE(documentOffset);
  return end > bytes.length ? undefined : BSON.deserialize(bytes.subarray(documentOffset, end));
}
