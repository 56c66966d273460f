/** The environment variable from which Node takes options of its own. */
export const nodeOptionsVariable = 'NODE_OPTIONS';

/**
 * Options of Node for the programs that read, write and compare data. By default V8 (Node 24) lets the memory of short-lived
 * objects grow to 96 MiB, of which changes in many small pieces use all: a limit of 48 MiB takes a quarter from the peak memory of
 * a backlog, and no measurable time (bench/results/measured-once.md). The image has them in its environment, where a pod can
 * replace them: the operator, with many short requests, has a smaller limit still.
 */
export const nodeOptions = '--max-semi-space-size=16';
