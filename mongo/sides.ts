/** The two sides of a comparison. */
export type SideName = 'source' | 'destination';

/** One of something for each side. */
export type Sides<T> = Readonly<Record<SideName, T>>;
