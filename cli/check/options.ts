import { runOptionTable } from '../run/options.ts';
import type { Options, OptionTable } from '../../service/options.ts';

/** The output formats of `clustersync check`. */
export const checkFormats = [...runOptionTable.output.choices, 'sarif'] as const;
export type CheckFormat = (typeof checkFormats)[number];

/** The options of `clustersync check`: those of `run`, so that one command line, or file, does for both; and one of its own. */
export const checkOptionTable = {
  ...runOptionTable,
  output: {
    ...runOptionTable.output,
    choices: checkFormats,
    description: 'format of the findings on standard output',
  },
  measureCopy: {
    type: 'boolean',
    default: false,
    description:
      'measure the speed of the copy: writes at most 64 MiB to collections of its own on the destination, for at most 5 seconds, and drops them',
  },
} as const satisfies OptionTable;

export type CheckOptions = Options<typeof checkOptionTable>;
