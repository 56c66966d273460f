import { messageOf, type SyncError } from '../../service/errors.ts';
import type { CheckAnswer, CheckFinding } from '../../sync-api/json.ts';
import { findingTable, type FindingName } from './finding-table.ts';

/** What a finding is about, where it is about one of the two deployments, or some of its namespaces. */
export interface Where {
  readonly side?: 'source' | 'destination';
  readonly namespaces?: readonly string[];
}

/** A reason for which a start is refused. */
export interface Blocker extends Where {
  readonly severity: 'blocker';
  /** What a start fails with. */
  readonly error: SyncError;
  /** What to do, if more is known than what the table of errors says. */
  readonly action?: string;
}

/** A finding that prevents no start. */
export interface Note extends Where {
  readonly severity: 'warning' | 'advice';
  readonly name: FindingName;
  readonly message: string;
  /** What to do, if more is known than what the table of findings says. */
  readonly action?: string;
}

/** What a check has found. */
export type Finding = Blocker | Note;

/** The number of namespaces that a finding lists for programs: it may end up in the status of a resource. */
const maxNamespaces = 100;

const order = ['blocker', 'warning', 'advice'] as const;

/** A reason for which a start is refused. */
export function blocker(error: SyncError, where: Where = {}): Blocker {
  return { severity: 'blocker', error, ...where };
}

/** A warning or an advice, as the table has it. */
export function note(name: FindingName, message: string, where: Where = {}): Note {
  return { severity: findingTable[name].severity, name, message: messageOf(message), ...where };
}

/** The answer of the API: the most important findings first, each once. */
export function answerOf(findings: readonly Finding[]): CheckAnswer {
  const found = new Map<string, CheckFinding>();
  for (const finding of findings.map(wireForm)) {
    const key = `${finding.name} ${finding.message}`;
    if (!found.has(key)) found.set(key, finding);
  }
  const sorted = [...found.values()].sort(
    (left, right) => order.indexOf(left.severity) - order.indexOf(right.severity),
  );
  const canStart = !sorted.some(({ severity }) => severity === 'blocker');
  return { success: true, canStart, findings: sorted };
}

function wireForm(finding: Finding): CheckFinding {
  const { severity, side, namespaces } = finding;
  const [name, message, action] =
    finding.severity === 'blocker'
      ? [finding.error.name, finding.error.message, finding.error.row.action]
      : [finding.name, finding.message, findingTable[finding.name].action];
  return {
    severity,
    name,
    ...(side && { side }),
    ...(namespaces && { namespaces: namespaces.slice(0, maxNamespaces) }),
    message,
    action: finding.action ?? action,
  };
}
