/**
 * How long tests wait for something to happen, unless they say otherwise: much longer than it takes on an idle machine, since
 * speed is measured by benchmarks.
 */
export const defaultDeadlineMs = 120_000;

/** The same for what a cluster does with pods: on a busy machine, 100 s have passed before their programs started. */
export const clusterDeadlineMs = 300_000;

/** The same as `--timeout` of kubectl and helm takes it. */
export const clusterTimeout = `${clusterDeadlineMs / 1000}s`;
