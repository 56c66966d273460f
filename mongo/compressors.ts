/** The compressors that Node.js includes, and their numbers in MongoDB's protocol, which knows `snappy` (1) as well. */
export const compressorIds = { zstd: 3, zlib: 2 } as const;

/** The name of a compressor that is included. */
export type Compressor = keyof typeof compressorIds;

/** Their names. */
export const compressors = Object.keys(compressorIds) as readonly Compressor[];

/** Whether text names a compressor that is included. */
export function isCompressor(name: string): name is Compressor {
  return Object.hasOwn(compressorIds, name);
}
