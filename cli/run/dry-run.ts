import type { SyncError } from '../../service/errors.ts';
import { fieldLines, formatted, type OutputFormat } from '../render/formats.ts';
import { bytesText, countOf } from '../../service/quantities.ts';
import { selectionText } from '../../mongo/filter-selection.ts';
import type { Plan } from './plan.ts';
import type { CheckFinding, StartBody } from '../../sync-api/json.ts';
import { findingsText } from '../check/findings-text.ts';
import { harmless } from '../../service/harmless.ts';

/** How many collections the text lists. */
const maxNamed = 10;

/** The result of a dry run. */
export interface DryRun {
  readonly plan: Plan;
  readonly body: StartBody;
  /** Other than IDLE if the migration is already under way. */
  readonly state: string;
  readonly source: string;
  readonly destination: string;
  readonly syncers: number;
  /** What prevents the start. */
  readonly refusal: SyncError | undefined;
  /** Everything that the check has found, what prevents the start included. */
  readonly findings: readonly CheckFinding[];
}

/** A dry run in the requested format. */
export function dryRunText(run: DryRun, format: OutputFormat): string {
  const { plan, body, state, source, destination, syncers, refusal, findings } = run;
  const value = {
    canStart: refusal === undefined,
    ...(refusal
      ? { error: refusal.name, errorDescription: refusal.message, action: refusal.row.action }
      : {}),
    state,
    source,
    destination,
    syncers,
    start: body,
    findings,
    ...plan,
  };
  return formatted(value, format, () => textOf(run));
}

function textOf(run: DryRun): string {
  const { plan, body, state, source, destination, syncers, refusal } = run;
  const others = findingsText(run.findings.filter((found) => !isAbout(found, refusal)));
  // The refusal says that the check lists all blockers, as this text does.
  const reason = run.findings.find((found) => isAbout(found, refusal)) ?? refusal;
  const { collections, views, bytes, documents, indexes } = plan;
  const named = collections
    .slice(0, maxNamed)
    .map(
      (one) =>
        `  ${harmless(one.namespace)}  ${bytesText(one.bytes)}, ${countOf(one.documents, 'document')}, ${countOf(one.indexes, 'index', 'indexes')}\n`,
    );
  const more = collections.length - named.length;
  const blocking = body.enableUserWriteBlocking
    ? 'on the destination until the commit, on the source from then on'
    : 'none: stop application writes yourself';
  return [
    refusal && reason
      ? `This migration cannot start: ${reason.message} (${refusal.name})\n${refusal.row.action}\n\n`
      : `${standingOf(state)}\n\n`,
    ...(others === '' ? [] : [others, '\n']),
    fieldLines({
      source,
      destination,
      moves: `${countOf(collections.length, 'collection')} and ${countOf(views.length, 'view')}: ${bytesText(bytes)}, ${countOf(documents, 'document')}, ${countOf(indexes, 'index', 'indexes')}`,
      onto:
        body.initialData === 'Present'
          ? 'a copy: replaces what differs, and deletes what the source does not have'
          : undefined,
      syncers: String(syncers),
      indexes: `built: ${body.buildIndexes}`,
      blocking,
      reversible: body.reversible ? 'yes' : 'no',
    }),
    ...(named.length > 0 ? ['\n', ...named] : []),
    ...(more > 0 ? [`  and ${countOf(more, 'smaller one')}\n`] : []),
    ...(plan.filter.length > 0 ? ['\n'] : []),
    ...plan.filter.map((entry) => `${harmless(selectionText(entry))}\n`),
  ].join('');
}

/** Where the migration is. */
function standingOf(state: string): string {
  switch (state) {
    case 'IDLE':
      return 'This migration can start; nothing was changed.';
    case 'COMMITTED':
      return 'This migration is committed. Run the same command without --dry-run to verify it again.';
    default:
      return `This migration is in progress: ${state}. Run the same command without --dry-run to continue it.`;
  }
}

/** Whether a finding is the refusal, which the text begins with. */
function isAbout({ name, message }: CheckFinding, refusal: SyncError | undefined): boolean {
  return name === refusal?.name && refusal.message.startsWith(message);
}
