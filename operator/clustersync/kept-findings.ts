import { shortened } from '../../service/errors.ts';
import { harmless } from '../../service/harmless.ts';
import type { ReportedCheck } from '../../sync-api/check-answer.ts';
import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { bytesOf } from '../operand/kept-progress.ts';

/** A finding as the status has it. */
export type StatusFinding = NonNullable<ClusterSyncStatus['preflight']>[number];
type Reported = ReportedCheck['findings'][number];

/** What a syncer has found, with what the status has room for. */
export interface KeptFindings {
  readonly findings: readonly StatusFinding[];
  /** How many more there were. */
  readonly omitted: number;
}

/** The limits of the status. */
const maxFindings = 100;
const maxNameLength = 64;
const maxNamespaceLength = 320;
const maxNamespaces = 20;
const maxTextLength = 2048;
/** For all of them: an object of more than 1.5 MiB is not stored, and the instances' reports need most of that. */
const maxBytes = 128 * 1024;

const severities = { blocker: 'Blocker', warning: 'Warning', advice: 'Advice' } as const;
const sides = { source: 'Source', destination: 'Destination' } as const;
const order: readonly Reported['severity'][] = ['blocker', 'warning', 'advice'];

/**
 * Findings for the status: the most important first, as many as fit. They are text from outside: nothing in them controls what
 * displays them. Connection strings have been redacted before, since half of a password is none that can be recognized.
 */
export function keptFindings(reported: ReportedCheck['findings']): KeptFindings {
  const all = reported.toSorted(
    (left, right) => order.indexOf(left.severity) - order.indexOf(right.severity),
  );
  const findings: StatusFinding[] = [];
  let bytes = 2;
  for (const one of all.slice(0, maxFindings)) {
    const finding = kept(one);
    bytes += bytesOf(finding) + 1;
    if (bytes > maxBytes) break;
    findings.push(finding);
  }
  return { findings, omitted: reported.length - findings.length };
}

function kept({ severity, name, side, namespaces = [], message, action }: Reported): StatusFinding {
  const omittedNamespaces = namespaces.length - maxNamespaces;
  return {
    severity: severities[severity],
    name: text(name, maxNameLength),
    ...(side && { side: sides[side] }),
    ...(namespaces.length > 0 && {
      namespaces: namespaces.slice(0, maxNamespaces).map((each) => text(each, maxNamespaceLength)),
    }),
    ...(omittedNamespaces > 0 && { omittedNamespaces }),
    message: text(message, maxTextLength),
    ...(action !== '' && { action: text(action, maxTextLength) }),
  };
}

function text(raw: string, maxLength: number): string {
  return shortened(harmless(raw), maxLength);
}
