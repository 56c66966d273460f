import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutated, nameOf, type Place } from './places.ts';
import { specsOf, type Reach } from './reach.ts';
import type { TreeCopy } from './tree-copy.ts';
import { tryTests, type Trial } from './try-tests.ts';

/** What became of a change. */
export interface Verdict {
  /** What noticed it; undefined where nothing did. */
  readonly failure: string | undefined;
  /** Which tests ran. */
  readonly ran: string;
  readonly seconds: number;
}

/** How changes are tried. */
export interface TrialSettings {
  readonly copy: TreeCopy;
  readonly reach: Reach;
  /** Of the unit tests of one place. */
  readonly unitLimitSeconds: number;
  /** How long the integration specs of one place may take together: 0 for none of them. */
  readonly specSeconds: number;
}

/** Tries one change after the other in a copy of the tree, which it leaves as it was. */
export class PlaceTrials {
  readonly #settings: TrialSettings;
  readonly #signal: AbortSignal;
  /** The specs that have failed with a change, and whether they pass without one. */
  readonly #isSound = new Map<string, boolean>();

  constructor(settings: TrialSettings, signal: AbortSignal) {
    this.#settings = settings;
    this.#signal = signal;
  }

  /**
   * Makes a change, and runs unit tests; if they pass, the integration specs that reach the module, until one fails.
   * Rejects when the signal is aborted.
   * @throws Error with the place and its cause where a run of tests proves nothing.
   */
  async tryPlace(place: Place, unitTests: readonly string[]): Promise<Verdict> {
    const beganAtMs = performance.now();
    const file = join(this.#settings.copy.path, place.path);
    const source = readFileSync(file, 'utf8');
    const change = (): void => {
      writeFileSync(file, mutated(source, place));
    };
    const restore = (): void => {
      writeFileSync(file, source);
    };
    try {
      change();
      const units = await this.#tryUnits(unitTests);
      const verdict = units ?? (await this.#trySpecs(place.path, change, restore));
      const seconds = Math.round((performance.now() - beganAtMs) / 1000);
      const ran = `${unitTests.length} files of unit tests${verdict.ran}`;
      return { failure: verdict.failure, ran, seconds };
    } catch (error) {
      if (this.#signal.aborted) throw error;
      throw new Error(`${nameOf(place)} could not be tried`, { cause: error });
    } finally {
      restore();
    }
  }

  async #tryUnits(files: readonly string[]): Promise<Pick<Verdict, 'failure' | 'ran'> | undefined> {
    const { copy, unitLimitSeconds: limitSeconds } = this.#settings;
    const end = { limitSeconds, isBailing: true };
    const { failure } = await tryTests(copy, 'unit tests', files, end, this.#signal);
    return failure === undefined ? undefined : { failure, ran: '' };
  }

  async #trySpecs(
    path: string,
    change: () => void,
    restore: () => void,
  ): Promise<Pick<Verdict, 'failure' | 'ran'>> {
    const { reach, specSeconds } = this.#settings;
    if (specSeconds === 0) return { failure: undefined, ran: '' };
    const specs = specsOf(path, reach);
    let leftSeconds = specSeconds;
    let [ran, unsound] = [0, 0];
    for (const [spec, knownSeconds] of specs) {
      if (knownSeconds > leftSeconds) break;
      const { failure, seconds } = await this.#trySpec(spec, knownSeconds);
      leftSeconds -= seconds;
      ran++;
      if (failure === undefined) continue;
      restore();
      if (await this.#passes(spec, knownSeconds)) return { failure, ran: '' };
      change();
      unsound++;
    }
    const fails = unsound === 0 ? '' : ` (${unsound} fail without the change, too)`;
    const ofAll = `, ${ran} of ${specs.length} integration specs that reach it${fails}`;
    return { failure: undefined, ran: ofAll };
  }

  /** Whether a spec passes without a change: otherwise it says nothing about one. */
  async #passes(spec: string, knownSeconds: number): Promise<boolean> {
    const isSound =
      this.#isSound.get(spec) ?? (await this.#trySpec(spec, knownSeconds)).failure === undefined;
    this.#isSound.set(spec, isSound);
    return isSound;
  }

  async #trySpec(spec: string, knownSeconds: number): Promise<Trial> {
    const { copy } = this.#settings;
    const end = { limitSeconds: 60 + 3 * knownSeconds, isBailing: true };
    return await tryTests(copy, 'integration specs', [spec], end, this.#signal);
  }
}
