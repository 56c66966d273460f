import { BSON, ObjectId, type Document } from 'mongodb';

/** The collections that stand-ins answer for, and about how many bytes a document of each has. */
export const ceilingSets = { small: 1_024, large: 50 * 1_024 } as const;

/** One of them. */
export type CeilingSet = keyof typeof ceilingSets;

/** The database of everything that is measured. */
export const database = 'bench';

const maxArrayBytes = 16_000_000;

/** A document of a set. */
export function documentOf(set: CeilingSet): Document {
  const fields = {
    _id: new ObjectId(),
    customer: 'a customer of the shop',
    count: 17,
    price: 19.5,
    at: new Date('2026-01-01'),
    tags: ['new', 'large', 'blue'],
    address: { street: 'Main Street 1', city: 'Springfield', zip: '12345' },
  };
  const bytes = BSON.calculateObjectSize({ ...fields, text: '' });
  return { ...fields, text: 'x'.repeat(ceilingSets[set] - bytes) };
}

/** As many documents as asked for as a BSON array, or as many as a reply takes. */
export function arrayOf(set: CeilingSet, count: number): { array: Buffer; documents: number } {
  const parts: Buffer[] = [];
  let bytes = 5;
  for (; parts.length < count;) {
    const document = Buffer.from(BSON.serialize(documentOf(set)));
    const part = Buffer.concat([Buffer.from(`\x03${parts.length}\0`), document]);
    if (bytes + part.length > maxArrayBytes) break;
    bytes += part.length;
    parts.push(part);
  }
  const length = Buffer.alloc(4);
  length.writeInt32LE(bytes);
  const array = Buffer.concat([length, ...parts, Buffer.from([0])]);
  return { array, documents: parts.length };
}
