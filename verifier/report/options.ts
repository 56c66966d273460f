import type { Options, OptionTable } from '../../service/options.ts';
import { reportFormats } from './report.ts';

/** The options of `clustersync verifier report`. */
export const reportOptionTable = {
  metaURI: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description:
      'connection string of the metadata store: the destination, where the verifier was given no other',
  },
  verification: {
    type: 'string',
    default: 'verification',
    description: 'name of the verification in the metadata store',
  },
  format: {
    type: 'string',
    default: 'text',
    choices: reportFormats,
    description: 'form of the report',
  },
  output: {
    type: 'string',
    valueName: 'file',
    description: 'file to write, which you alone may read; the output when absent',
  },
  reportValues: {
    type: 'boolean',
    default: false,
    description:
      'tell the values that differ, where the verifier has kept them for the same option',
  },
} as const satisfies OptionTable;

export type ReportOptions = Options<typeof reportOptionTable>;
