import { connectionOptions } from '../../mongo/connection.ts';
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
      'connection string of the metadata store: the destination, unless the verifier was given another one',
  },
  ...connectionOptions('meta', 'the metadata store'),
  verification: {
    type: 'string',
    default: 'verification',
    description: 'name of the verification in the metadata store',
  },
  format: {
    type: 'string',
    default: 'text',
    choices: reportFormats,
    description: 'format of the report',
  },
  output: {
    type: 'string',
    valueName: 'file',
    description: 'output file, readable only by you; by default standard output',
  },
  reportValues: {
    type: 'boolean',
    default: false,
    description: 'include differing values, if the verifier ran with the same option',
  },
} as const satisfies OptionTable;

export type ReportOptions = Options<typeof reportOptionTable>;
