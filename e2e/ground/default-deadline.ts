/**
 * How long tests wait for something to happen, unless they say otherwise: much longer than it takes on an idle machine, since
 * speed is measured by benchmarks.
 */
export const defaultDeadlineMs = 120_000;
