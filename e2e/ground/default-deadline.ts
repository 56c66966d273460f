/**
 * How long tests wait for what is to happen, unless they say otherwise: much longer than it takes on a machine that has
 * nothing else to do, since how fast something is, is for benchmarks to say.
 */
export const defaultDeadlineMs = 120_000;
