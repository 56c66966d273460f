/** Waits for both, so that nothing is left running when one fails. */
export async function settled<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  const results = await Promise.allSettled([a, b]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return await Promise.all([a, b]);
}
