import { readFileSync } from 'node:fs';
import { mutated, type Kind, type Place } from './places.ts';

/** A change that no test notices, and why that is known. It is named by its text: lines move. */
export interface Survivor {
  readonly path: string;
  readonly kind: Kind;
  /** The first line that the change makes another, without its indentation. */
  readonly from: string;
  /** What that line becomes. */
  readonly to: string;
  /** Nothing else comes out; the same comes out later or with more work; or a test is missing. */
  readonly reason: 'equivalent' | 'speed' | 'gap';
  readonly why: string;
}

/** The known survivors: none may be added but with its reason, and a gap gets a test rather than an entry. */
export function readSurvivors(): readonly Survivor[] {
  const text = readFileSync(new URL('survivors.json', import.meta.url), 'utf8');
  // Written by people, and held by survivors.test.ts.
  return JSON.parse(text) as readonly Survivor[];
}

/** The first line that a change makes another, and what it becomes. */
export function changedLine(source: string, place: Place): Pick<Survivor, 'from' | 'to'> {
  const before = source.split('\n');
  const after = mutated(source, place).split('\n');
  const index = before.findIndex((line, at) => line !== after[at]);
  return { from: before[index]?.trim() ?? '', to: after[index]?.trim() ?? '' };
}

/** The entry of a change, if it is known. */
export function knownSurvivor(
  survivors: readonly Survivor[],
  source: string,
  place: Place,
): Survivor | undefined {
  const { from, to } = changedLine(source, place);
  return survivors.find(
    (one) =>
      one.path === place.path && one.kind === place.kind && one.from === from && one.to === to,
  );
}
