/**
 * How long tests wait for something to happen, unless they say otherwise: much longer than it takes on an idle machine, since
 * speed is measured by benchmarks.
 */
export const defaultDeadlineMs = 120_000;

/** The same for what a cluster does with pods: on a busy machine, 100 s have passed before their programs started. */
export const clusterDeadlineMs = 300_000;
