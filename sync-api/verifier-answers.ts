import {
  arrayOf,
  numberOf,
  objectOf,
  textOf,
  textsOf,
  type JsonObject,
} from '../service/json-fields.ts';
import { redactValue } from '../service/redact.ts';

/*
 * Reads the answers of a verifier, ours or another one, which may omit fields and have others. Undefined: the verifier does not
 * report the value, or does not know it.
 */

/** The progress of a verification, as a verifier reports it. */
export interface ReportedVerification {
  /** One of the contract, or another tool's name for it. */
  readonly phase: string;
  /** What keeps the verification from continuing, as a text. */
  readonly error: string | undefined;
  /** Undefined if the tool has no such field, null if it does not know yet. */
  readonly verdict: string | null | undefined;
  /** What each side counts after all writes. */
  readonly documentsCounted: { readonly source: number; readonly destination: number } | undefined;
  /** How many documents of each side it has compared only by hash. */
  readonly documentsHashed: number | undefined;
  /** Its counts of tasks, as received. */
  readonly verificationStatus: JsonObject | undefined;
  /** Number of the pass; 0 is the first. */
  readonly generation: number | undefined;
  readonly generationKind: string | undefined;
  /** Of the current pass. */
  readonly generationStats: {
    readonly documentsCompared: number | undefined;
    readonly documentsTotal: number | undefined;
    readonly secondsLeft: number | undefined;
  };
  /** All passes together. */
  readonly documentsCompared: number | undefined;
  readonly bytesCompared: number | undefined;
  readonly mismatchCount: number | undefined;
  /** What the last pass to end has found. Undefined if the tool has no such field, null until a pass has ended. */
  readonly lastPass: ReportedPass | null | undefined;
  readonly mismatchKinds: readonly MismatchCount[];
  /** The namespaces with the most of them. */
  readonly mismatchNamespaces: readonly MismatchCount[];
  /** The first of them. */
  readonly mismatches: readonly ReportedMismatch[];
  /** ISO time of these figures, if the verifier does not know the latest. */
  readonly asOf: string | undefined;
  /** What it retries or waits for. Empty while `asOf` says that it does not know the latest. */
  readonly warnings: readonly string[];
  /** As received, except that users and passwords in connection strings are redacted. */
  readonly raw: JsonObject;
}

/** What a pass that has ended has found. */
export interface ReportedPass {
  readonly generation: number;
  readonly mismatchCount: number;
  /** How long the oldest difference has lasted. */
  readonly longestSeconds: number;
  /** Whether it has compared everything that it had to. */
  readonly isWhole: boolean;
  /** For how long passes have been short: what was found before has been compared again since. */
  readonly shortSeconds: number;
  /** How long ago it has ended. */
  readonly ageSeconds: number;
}

/** How many mismatches there are of a kind, or in a namespace. */
export interface MismatchCount {
  readonly name: string;
  readonly count: number;
}

/** A difference. */
export interface ReportedMismatch {
  readonly namespace: string;
  readonly kind: string;
  /** The `_id` of the document. */
  readonly id: string | undefined;
  readonly index: string | undefined;
  readonly field: string | undefined;
  readonly detail: string | undefined;
  readonly sourceValue: string | undefined;
  readonly destinationValue: string | undefined;
}

/** Reads `progress` of a verifier's answer, just received or stored. Undefined if it has no phase, and so is none. */
export function readVerification(progress: unknown): ReportedVerification | undefined {
  // Another tool may reveal what ours does not.
  const raw = objectOf(redactValue(progress));
  const phase = textOf(raw['phase']);
  if (phase === undefined) return undefined;
  const { verdict, verificationStatus: tasks } = raw;
  const stats = objectOf(raw['generationStats']);
  const asOf = textOf(raw['asOf']);
  return {
    phase,
    error: errorTextOf(raw['error']),
    verdict: verdict === null ? null : textOf(verdict),
    documentsCounted: countedIn(raw['proof']),
    documentsHashed: wholeNumberOf(objectOf(raw['proof'])['documentsHashed']),
    verificationStatus: isObject(tasks) ? tasks : undefined,
    generation: numberOf(raw['generation']),
    generationKind: textOf(raw['generationKind']),
    generationStats: {
      documentsCompared: numberOf(stats['documentsCompared']),
      documentsTotal: numberOf(stats['documentsTotal']),
      secondsLeft: numberOf(stats['secondsLeft']),
    },
    documentsCompared: numberOf(raw['documentsCompared']),
    bytesCompared: numberOf(raw['bytesCompared']),
    mismatchCount: wholeNumberOf(raw['mismatchCount']),
    lastPass: raw['lastPass'] === null ? null : passIn(objectOf(raw['lastPass'])),
    mismatchKinds: countsIn(raw['mismatchKinds'], 'kind'),
    mismatchNamespaces: countsIn(raw['mismatchNamespaces'], 'namespace'),
    mismatches: arrayOf(raw['mismatches']).map(objectOf).map(readMismatch),
    asOf,
    warnings: asOf === undefined ? textsOf(raw['warnings']) : [],
    raw,
  };
}

/** Some differences, as received, and `after` of the next page; undefined at the end. */
export interface ReportedMismatches {
  readonly mismatches: readonly JsonObject[];
  readonly next: string | undefined;
}

/** Reads an answer of GET /mismatches; undefined if it lists none. */
export function readMismatches(body: unknown): ReportedMismatches | undefined {
  const { mismatches, next } = objectOf(body);
  return Array.isArray(mismatches)
    ? { mismatches: mismatches.map(objectOf), next: textOf(next) }
    : undefined;
}

/** Reads a difference. */
export function readMismatch(mismatch: JsonObject): ReportedMismatch {
  return {
    namespace: textOf(mismatch['namespace']) ?? '',
    kind: textOf(mismatch['kind']) ?? '',
    id: textOf(mismatch['id']),
    index: textOf(mismatch['index']),
    field: textOf(mismatch['field']),
    detail: textOf(mismatch['detail']),
    sourceValue: textOf(mismatch['sourceValue']),
    destinationValue: textOf(mismatch['destinationValue']),
  };
}

/** `error` of a progress: null, a text, or whatever value a tool puts there. */
function errorTextOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Undefined unless all of it is there: half of it says nothing. */
function passIn(pass: JsonObject): ReportedPass | undefined {
  const count = (name: keyof ReportedPass): number => wholeNumberOf(pass[name]) ?? -1;
  const { isWhole } = pass;
  if (typeof isWhole !== 'boolean') return undefined;
  const read = {
    isWhole,
    generation: count('generation'),
    mismatchCount: count('mismatchCount'),
    longestSeconds: count('longestSeconds'),
    shortSeconds: count('shortSeconds'),
    ageSeconds: count('ageSeconds'),
  };
  return Object.values(read).some((value) => typeof value === 'number' && value < 0)
    ? undefined
    : read;
}

function countedIn(proof: unknown): ReportedVerification['documentsCounted'] {
  const counted = objectOf(objectOf(proof)['documentsCounted']);
  const [source, destination] = [numberOf(counted['source']), numberOf(counted['destination'])];
  return source === undefined || destination === undefined ? undefined : { source, destination };
}

/** Rows of a name and a count; anything else is left out. */
function countsIn(rows: unknown, nameField: 'kind' | 'namespace'): readonly MismatchCount[] {
  return arrayOf(rows)
    .map(objectOf)
    .flatMap((row) => {
      const name = textOf(row[nameField]);
      const count = wholeNumberOf(row['count']);
      return name === undefined || count === undefined ? [] : [{ name, count }];
    });
}

function wholeNumberOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? numberOf(value) : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
