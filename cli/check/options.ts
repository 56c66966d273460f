import { runOptionTable } from '../run/options.ts';
import type { Options, OptionTable } from '../../service/options.ts';

/** The output formats of `clustersync check`. */
export const checkFormats = [...runOptionTable.output.choices, 'sarif'] as const;
export type CheckFormat = (typeof checkFormats)[number];

/** The options of `clustersync check`: those of `run`, so that one command line, or file, does for both. */
export const checkOptionTable = {
  ...runOptionTable,
  output: {
    ...runOptionTable.output,
    choices: checkFormats,
    description: 'format of the findings on standard output',
  },
} as const satisfies OptionTable;

export type CheckOptions = Options<typeof checkOptionTable>;
