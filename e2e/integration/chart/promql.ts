import { run } from '../../ground/command.ts';
import { toolPath } from '../../ground/tool-path.ts';

/** A series of Prometheus: a value a minute, null where it is not there. */
export interface Series {
  /** Its name is `__name__`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly (number | null)[];
}

/** What the engine of Prometheus makes of an expression. */
export interface Evaluation {
  /** What it is, every minute. */
  readonly series: readonly Series[];
  /** The metrics that it asks for, with the labels that it selects them by. */
  readonly selectors: readonly { readonly metric: string; readonly labels: readonly string[] }[];
}

/** Evaluates expressions on made-up series. Rejects where one of them is none. */
export async function evaluate(
  expressions: readonly string[],
  series: readonly Series[] = [],
): Promise<readonly Evaluation[]> {
  const input = JSON.stringify({ series, expressions });
  return JSON.parse(await run(toolPath('promql', 'promql'), [], { input })) as Evaluation[];
}
