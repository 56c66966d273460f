import { messageOf, SyncError } from '../service/errors.ts';
import type { CheckedValue } from './checked-value.ts';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import {
  isInternalDatabase,
  isSystemCollection,
  namespaceText,
  type Namespace,
} from './namespace.ts';
import { isRefused } from './server-errors.ts';

/** A regular expression by the server's rules (PCRE, not anchored). */
export interface NamePattern {
  readonly pattern: string;
  readonly options?: string;
}

/** An entry of includeNamespaces or excludeNamespaces; validated by the schema of the start body. */
export interface NamespaceFilterEntry {
  readonly database?: string;
  readonly databaseRegex?: NamePattern;
  readonly collections?: readonly string[];
  readonly collectionsRegex?: NamePattern;
}

/** Which namespaces are selected: those included (all when undefined), without those excluded. */
export interface NamespaceFilterEntries {
  readonly includeNamespaces?: readonly NamespaceFilterEntry[];
  readonly excludeNamespaces?: readonly NamespaceFilterEntry[];
}

const filterFields = ['includeNamespaces', 'excludeNamespaces'] as const;

/** Tells whether a name matches a pattern. */
export type PatternMatcher = (pattern: NamePattern, name: string) => Promise<boolean>;

/** How many answers about patterns to cache. */
const maxRemembered = 100_000;

/** Decides which namespaces a sync or a verification covers. System namespaces are never selected. */
export class NamespaceFilter {
  readonly #entries: NamespaceFilterEntries;
  readonly #matches: PatternMatcher;
  readonly #remembered = new Map<string, boolean>();

  constructor(entries: NamespaceFilterEntries, matches: PatternMatcher) {
    this.#entries = entries;
    this.#matches = matches;
  }

  /** True when a namespace is selected. */
  async selects(namespace: Namespace): Promise<boolean> {
    if (isOfServer(namespace)) return false;
    const key = namespaceText(namespace);
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const { includeNamespaces, excludeNamespaces } = this.#entries;
    const selected =
      (includeNamespaces === undefined || (await this.#anyMatches(includeNamespaces, namespace))) &&
      !(excludeNamespaces !== undefined && (await this.#anyMatches(excludeNamespaces, namespace)));
    if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
    this.#remembered.set(key, selected);
    return selected;
  }

  /** All entries of the filter: `includeNamespaces[0]` and so on. */
  get entryNames(): readonly string[] {
    return filterFields.flatMap((field) =>
      (this.#entries[field] ?? []).map((_, index) => `${field}[${index}]`),
    );
  }

  /** The names of the entries that match a namespace, selected or not; none for one of the server's own. */
  async entriesFor(namespace: Namespace): Promise<string[]> {
    const found: string[] = [];
    if (isOfServer(namespace)) return found;
    for (const field of filterFields)
      for (const [index, entry] of (this.#entries[field] ?? []).entries())
        if (await this.#entryMatches(entry, namespace)) found.push(`${field}[${index}]`);
    return found;
  }

  /** Tries every pattern once. @throws the matcher's error for a pattern that cannot be compiled. */
  async tryPatterns(): Promise<void> {
    const { includeNamespaces = [], excludeNamespaces = [] } = this.#entries;
    for (const { databaseRegex, collectionsRegex } of [...includeNamespaces, ...excludeNamespaces])
      for (const pattern of [databaseRegex, collectionsRegex])
        if (pattern) await this.#matches(pattern, '');
  }

  async #anyMatches(
    entries: readonly NamespaceFilterEntry[],
    namespace: Namespace,
  ): Promise<boolean> {
    for (const entry of entries) {
      if (await this.#entryMatches(entry, namespace)) return true;
    }
    return false;
  }

  async #entryMatches(entry: NamespaceFilterEntry, { db, coll }: Namespace): Promise<boolean> {
    if (entry.database !== undefined && entry.database !== db) return false;
    if (entry.databaseRegex && !(await this.#matches(entry.databaseRegex, db))) return false;
    if (entry.collections && !entry.collections.includes(coll)) return false;
    return !entry.collectionsRegex || (await this.#matches(entry.collectionsRegex, coll));
  }
}

function isOfServer({ db, coll }: Namespace): boolean {
  return isInternalDatabase(db) || isSystemCollection(coll);
}

/**
 * Lets a server decide whether a name matches, so that patterns mean the same as in its queries. The question is an expression,
 * which fails if the work exceeds the limit of PCRE: in a query such a name does not match (6.0.5).
 * @throws SyncError InvalidNamespaceFilter if the server cannot compile the pattern, or cannot decide.
 */
export function serverMatcher(cluster: ClusterClient, signal: AbortSignal): PatternMatcher {
  const remembered = new Map<string, boolean>();
  return async ({ pattern, options = '' }, name) => {
    const key = JSON.stringify([pattern, options, name]);
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const regex = { $literal: pattern };
    const decision = { $regexMatch: { input: '$name', regex, options: { $literal: options } } };
    const pipeline = [{ $documents: [{ name }] }, { $project: { _id: 0, matches: decision } }];
    let answer: CheckedValue;
    try {
      answer = await runCommand(cluster.admin, { aggregate: 1, pipeline, cursor: {} }, { signal });
    } catch (error) {
      if (!isRefused(error)) throw error;
      throw new SyncError(
        'InvalidNamespaceFilter',
        `the server cannot apply the regular expression ${pattern}${name === '' ? '' : ` to the name ${name}`}: ${messageOf(error)}`,
        { cause: error },
      );
    }
    const batch = answer.field('cursor').field('firstBatch');
    const [decided] = batch.list();
    if (decided === undefined) throw batch.error('has no decision');
    const matches = decided.field('matches').boolean();
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(key, matches);
    return matches;
  };
}
