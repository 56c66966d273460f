import type { Document } from 'mongodb';

// A lease in MongoDB ends at a time by the server's clock: `until`, in the document that says who has it. No process compares
// that with a clock of its own.

/** The end of a lease that is taken or renewed now: an expression for an update by a pipeline. */
export function leaseEnd(leaseMs: number): Document {
  return { $add: ['$$NOW', leaseMs] };
}

/**
 * Whether a lease has ended: an expression for `$expr`.
 * @param until - the path of its end, such as `$until`. If that is missing, nobody has had the lease, and it counts as ended.
 */
export function hasLeaseEnded(until: `$${string}`): Document {
  return { $lte: [{ $ifNull: [until, new Date(0)] }, '$$NOW'] };
}
