import { countOf, durationText } from '../../service/quantities.ts';
import { cutTo, widthOf } from '../render/width.ts';
import type {
  Condition,
  FindingResource,
  InstanceResource,
  SyncResource,
  VerificationResource,
} from './resources.ts';
import { harmless } from '../../service/harmless.ts';

/** Something with parts. */
export interface Tree {
  readonly text: string;
  readonly below?: readonly Tree[];
}

/** A tree as lines, drawn like the command `tree`. */
export function treeLines({ text, below = [] }: Tree): string[] {
  return [
    harmless(text),
    ...below.flatMap((part, index) => {
      const isLast = index === below.length - 1;
      const [first = '', ...rest] = treeLines(part);
      return [
        `${isLast ? '└─ ' : '├─ '}${first}`,
        ...rest.map((line) => `${isLast ? '   ' : '│  '}${line}`),
      ];
    }),
  ];
}

/** A sync with its instances, its conditions, and its verifications. */
export function syncTree(sync: SyncResource, verifications: readonly VerificationResource[]): Tree {
  const { direction } = sync;
  const arrow = direction === 'Reverse' ? '<-' : '->';
  return {
    text: `ClusterSync ${sync.name}: ${phaseText(sync)}  (${sync.source} ${arrow} ${sync.destination})`,
    below: [
      ...(sync.instances.length === 0
        ? []
        : [
            {
              text: countOf(sync.instances.length, 'instance'),
              below: sync.instances.map((one) => instanceTree(one, sync.coordinatorId)),
            },
          ]),
      ...findingTrees(sync),
      ...conditionTrees(sync.conditions),
      ...verifications.map((verification): Tree => {
        const { name, phase, verdict, differences, conditions } = verification;
        const found = [
          ...(verdict === null ? [] : [verdict]),
          ...(differences === null ? [] : [countOf(differences, 'difference')]),
        ];
        return {
          text: `SyncVerification ${name}: ${[phase, ...found].join(', ')}`,
          below: conditionTrees(conditions),
        };
      }),
    ],
  };
}

/** The state of a sync, in a few words. */
function phaseText({ phase, desired, percent, lagSeconds, readyToCommit }: SyncResource): string {
  // Of what runs there are several phases.
  const isWanted = desired === 'Running' ? phase !== 'Paused' : phase === desired;
  return [
    isWanted ? phase : `${phase}, desired ${desired}`,
    ...(percent === null ? [] : [`${percent} % copied`]),
    ...(lagSeconds === null ? [] : [`lag ${durationText(lagSeconds)}`]),
    ...(readyToCommit === 'yes' ? ['ready to commit'] : []),
  ].join(', ');
}

function instanceTree(one: InstanceResource, coordinatorId: string | null): Tree {
  const { id, pod, ready, state, info, lagSeconds, error } = one;
  const said = [
    state ?? (ready ? 'says nothing' : 'not ready'),
    ...(info === null ? [] : [info]),
    ...(lagSeconds === null ? [] : [`lag ${durationText(lagSeconds)}`]),
    ...(pod === null ? [] : [`pod ${pod}`]),
  ];
  const role = id === coordinatorId ? ' (coordinates)' : '';
  return {
    text: `${id}${role}: ${said.join(', ')}`,
    below: error === null ? [] : [{ text: `error: ${error}` }],
  };
}

/** What the check before the start has found, each with what to do. */
function findingTrees({ findings, omittedFindings }: SyncResource): Tree[] {
  if (findings.length === 0) return [];
  const below = findings.map(findingTree);
  const more = omittedFindings > 0 ? [{ text: `and ${omittedFindings} more` }] : [];
  return [{ text: 'found before the start', below: [...below, ...more] }];
}

function findingTree({ severity, name, side, message, action }: FindingResource): Tree {
  const of = side === null ? '' : ` (${side.toLowerCase()})`;
  return {
    text: `${severity} ${name}${of}: ${message}`,
    below: action === null ? [] : [{ text: action }],
  };
}

function conditionTrees(conditions: readonly Condition[]): Tree[] {
  if (conditions.length === 0) return [];
  const below = conditions.map(({ type, status, reason, message }) => ({
    text: `${type} ${status}${reason === '' ? '' : ` (${reason})`}${message === '' ? '' : `: ${message}`}`,
  }));
  return [{ text: 'conditions', below }];
}

/** Names in Kubernetes are shorter. */
const maxCellWidth = 256;

/** A table with column heads. Very long cells are cut: every row is as wide as the widest one. */
export function tableLines(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const all = [heads, ...rows.map((row) => row.map((cell) => cutTo(harmless(cell), maxCellWidth)))];
  const widths = heads.map((_, column) =>
    all.reduce((width, row) => Math.max(width, widthOf(row[column] ?? '')), 0),
  );
  return all.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('   ')
      .trimEnd(),
  );
}

/** A table printed by kubectl, reduced to its last rows, and how many were left out. */
export function lastRows(table: string, count: number): string {
  const [heads = '', ...rows] = table.trimEnd().split('\n');
  if (rows.length <= count) return table;
  const leftOut = `(${rows.length - count} earlier rows omitted)`;
  return `${[heads, leftOut, ...rows.slice(-count)].join('\n')}\n`;
}
