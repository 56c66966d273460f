import type { CheckFinding } from '../../sync-api/json.ts';
import { harmless } from '../../service/harmless.ts';
import { countOf } from '../../service/quantities.ts';

/** The findings of each severity, under their headings, the most important first. */
const headings = [
  ['blocker', 'Blockers'],
  ['warning', 'Warnings'],
  ['advice', 'Advice'],
] as const;

/** Whether a migration can start, and all findings, each with what to do. */
export function checkText(findings: readonly CheckFinding[]): string {
  const found = findingsText(findings);
  return `${headline(findings)}\n${found === '' ? '' : `\n${found}`}`;
}

function headline(findings: readonly CheckFinding[]): string {
  const counted = (severity: CheckFinding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const [blockers, warnings, advice] = [counted('blocker'), counted('warning'), counted('advice')];
  const counts = [
    ...(blockers > 0 ? [countOf(blockers, 'blocker')] : []),
    ...(warnings > 0 ? [countOf(warnings, 'warning')] : []),
    ...(advice > 0 ? [countOf(advice, 'piece of advice', 'pieces of advice')] : []),
  ].join(', ');
  const verdict = blockers > 0 ? 'This migration cannot start' : 'This migration can start';
  return `${verdict}; ${counts === '' ? 'nothing was found' : counts}.`;
}

/** The findings under their headings; empty if there are none. */
export function findingsText(findings: readonly CheckFinding[]): string {
  return headings
    .flatMap(([severity, heading]) => {
      const those = findings.filter((finding) => finding.severity === severity);
      return those.length === 0 ? [] : [`${heading}:\n${those.map(findingText).join('')}`];
    })
    .join('\n');
}

function findingText({ name, side, message, action }: CheckFinding): string {
  const of = side === undefined ? '' : ` (${side})`;
  return `  ${harmless(name)}${of}: ${harmless(message)}\n    ${harmless(action)}\n`;
}
