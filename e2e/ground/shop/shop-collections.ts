import { randomBytes } from 'node:crypto';
import { Int32, type CreateCollectionOptions, type Document, type IndexDescription } from 'mongodb';

/** Database of the sample data. */
export const shopDatabase = 'shop';

/** One collection of the sample data: an online shop. */
export interface ShopCollection {
  readonly name: string;
  /** Documents at scale 1. */
  readonly documents: number;
  readonly options?: CreateCollectionOptions;
  readonly indexes: readonly IndexDescription[];
  readonly documentAt: (index: number) => Document;
}

const cities = ['Lisbon', 'Vienna', 'Oslo', 'Turin', 'Ghent', 'Riga', 'Porto', 'Graz'] as const;
const statuses = ['open', 'paid', 'sent', 'returned'] as const;
const words = ['red', 'warm', 'light', 'folding', 'steel', 'round', 'quiet', 'oak'] as const;
const things = ['lamp', 'chair', 'kettle', 'desk', 'clock', 'bench', 'shelf', 'stool'] as const;
const weekSeconds = 7 * 24 * 3600;
const loadedAt = new Date();

/** Any element; the same for the same number. */
function pick<T>(list: readonly T[], number: number): T | undefined {
  return list[Math.abs(number) % list.length];
}

/** Photos of the products: few documents, and large ones, which do not compress. */
export const shopPhotos: Omit<ShopCollection, 'documents'> = {
  name: 'photos',
  indexes: [{ key: { product: 1 }, name: 'by_product' }],
  documentAt: (index) => ({ _id: index, product: index % 15_000, image: randomBytes(64 * 1024) }),
};

/**
 * 220,000 documents in five collections, and a capped one; with indexes of every kind that a sync alters and a commit
 * restores (unique, TTL, hidden), and partial, compound and text ones.
 */
export const shopCollections: readonly ShopCollection[] = [
  {
    name: 'orders',
    documents: 120_000,
    indexes: [
      { key: { customer: 1, orderedAt: -1 }, name: 'by_customer' },
      {
        key: { orderedAt: 1 },
        name: 'open_by_time',
        partialFilterExpression: { status: 'open' },
      },
    ],
    documentAt: (index) => ({
      _id: index,
      customer: index % 40_000,
      status: pick(statuses, index >> 2),
      orderedAt: new Date(loadedAt.getTime() - index * 60_000),
      lines: [
        { product: index % 15_000, count: 1 + (index % 3), price: (index % 900) / 4 },
        { product: (index * 7) % 15_000, count: 1, price: (index % 350) / 2 },
      ],
      note: `to be delivered to the back door, please ring twice: number ${index}`,
    }),
  },
  {
    name: 'customers',
    documents: 40_000,
    indexes: [
      { key: { email: 1 }, name: 'email', unique: true },
      { key: { city: 1, name: 1 }, name: 'by_city' },
      { key: { points: -1 }, name: 'by_points', hidden: true },
    ],
    documentAt: (index) => ({
      _id: index,
      email: `customer-${index}@shop.example`,
      name: `Customer ${(index * 7919) % 40_000}`,
      city: pick(cities, index),
      points: new Int32((index * 31) % 5000),
      address: { street: `Station Road ${index % 200}`, city: pick(cities, index) },
    }),
  },
  {
    name: 'reviews',
    documents: 30_000,
    indexes: [{ key: { product: 1, stars: -1 }, name: 'best_of_product' }],
    documentAt: (index) => ({
      _id: { product: index % 15_000, number: index },
      product: index % 15_000,
      stars: 1 + (index % 5),
      text: `${pick(words, index)} and ${pick(words, index >> 3)}: I would buy it again`,
    }),
  },
  {
    name: 'products',
    documents: 15_000,
    indexes: [
      { key: { sku: 1 }, name: 'sku', unique: true },
      { key: { name: 'text', text: 'text' }, name: 'search', weights: { name: 5, text: 1 } },
    ],
    documentAt: (index) => ({
      _id: index,
      sku: `SKU-${String(index).padStart(6, '0')}`,
      name: `${pick(words, index)} ${pick(things, index >> 3)}`,
      text: `a ${pick(words, index >> 2)} ${pick(things, index >> 3)} for every home`,
      stock: new Int32(index % 250),
    }),
  },
  {
    name: 'sessions',
    documents: 15_000,
    indexes: [{ key: { seenAt: 1 }, name: 'expiry', expireAfterSeconds: weekSeconds }],
    documentAt: (index) => ({
      _id: `session-${index}`,
      customer: index % 40_000,
      seenAt: new Date(loadedAt.getTime() - index * 1000),
    }),
  },
  {
    name: 'log',
    documents: 2_000,
    options: { capped: true, size: 8 * 1024 * 1024 },
    indexes: [],
    documentAt: (index) => ({ at: loadedAt, line: `${index}: ${pick(things, index)} looked at` }),
  },
];
