import { arrayOf, objectOf, textOf, textsOf } from '../service/json-fields.ts';
import { redact } from '../service/redact.ts';
import type { CheckFinding } from './json.ts';

/** What a syncer has found before a start, as it reports it. */
export interface ReportedCheck {
  readonly canStart: boolean;
  readonly findings: readonly CheckFinding[];
}

const severities = ['blocker', 'warning', 'advice'] as const;

/** Reads an answer of POST /check; undefined if it is none. What is not a finding is omitted. */
export function readCheck(body: unknown): ReportedCheck | undefined {
  const { success, canStart, findings } = objectOf(body);
  if (success !== true || typeof canStart !== 'boolean' || !Array.isArray(findings))
    return undefined;
  return { canStart, findings: readFindings(findings) };
}

/** Reads findings, just received or stored. Connection strings in them are redacted. */
export function readFindings(value: unknown): readonly CheckFinding[] {
  return arrayOf(value).flatMap((each) => {
    const finding = objectOf(each);
    const severity = severities.find((one) => one === finding['severity']);
    const [name, message] = [textOf(finding['name']), textOf(finding['message'])];
    if (severity === undefined || name === undefined || message === undefined) return [];
    const { side } = finding;
    const namespaces = textsOf(finding['namespaces']);
    return [
      {
        severity,
        name: redact(name),
        ...(side === 'source' || side === 'destination' ? { side } : {}),
        ...(namespaces.length > 0 ? { namespaces: namespaces.map(redact) } : {}),
        message: redact(message),
        action: redact(textOf(finding['action']) ?? ''),
      },
    ];
  });
}
