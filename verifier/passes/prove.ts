import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import { expires } from '../compare/expiry.ts';
import {
  isCollectionPair,
  readNamespacePairs,
  type CatalogContext,
  type NamespacePair,
} from '../compare/namespace-pairs.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Side } from '../compare/sides.ts';
import type { Count, Coverage, PlanKey, Proof, Tally } from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import {
  countByScan,
  countByStatistics,
  countDoubt,
  isSettledByStatistics,
  type CountEvidence,
} from './count-documents.ts';

/** What a proof needs. */
export interface ProofContext extends RetryContext {
  readonly stores: Pick<Stores, 'tasks' | 'coverages'>;
  readonly catalog: CatalogContext;
  readonly sides: Sides<Side>;
}

/** A namespace that is not proven to be equal, and why. */
export interface Doubt {
  readonly namespace: Namespace;
  readonly reason: string;
}

/** The proof of the verdict `equal`, and what prevents it. */
export interface ProofResult {
  readonly proof: Proof;
  /** Of both catalogs together. */
  readonly namespaces: number;
  readonly doubts: readonly Doubt[];
  readonly counts: readonly (Count & { readonly generation: number })[];
}

/** How many collections are counted concurrently. */
const countedAtOnce = 8;

/**
 * Checks for each namespace of both catalogs whether it is proven to be equal, after a last pass without differences: that this pass has
 * compared its metadata, that a pass has read all of its documents, and that both sides count what was read.
 */
export async function prove(context: ProofContext, plan: PlanKey): Promise<ProofResult> {
  const { stores, catalog } = context;
  const { pairs, compared } = await retrying(context, 'proof', async () => {
    const found = new Set<string>();
    for await (const namespace of stores.tasks.equalMetadata(plan)) {
      found.add(namespaceText(namespace));
    }
    return { pairs: await readNamespacePairs(catalog, 'all'), compared: found };
  });
  const coverages = await stores.coverages.latest(plan.run);
  const proof = new GrowingProof(pairs.size);
  await forEachConcurrently(pairs.values(), countedAtOnce, async (pair) => {
    const { namespace } = pair;
    if (!compared.has(namespaceText(namespace))) {
      proof.doubt(namespace, 'its options and indexes were not compared in the last pass');
    }
    if (!isCollectionPair(pair)) return;
    const coverage = coverages.get(namespaceText(namespace));
    if (!coverage) {
      proof.doubt(namespace, 'no pass has read all of its documents');
      return;
    }
    const since = await stores.coverages.tallySince(plan.run, namespace, coverage.generation);
    const { counted, doubt } = await count(context, pair, coverage, since);
    proof.add(coverage, counted);
    if (doubt !== undefined) proof.doubt(namespace, doubt);
  });
  return proof;
}

class GrowingProof implements ProofResult {
  readonly namespaces: number;
  readonly doubts: Doubt[] = [];
  readonly counts: (Count & { readonly generation: number })[] = [];
  proof: Proof = {
    collections: 0,
    ranges: 0,
    documentsCompared: { source: 0, destination: 0 },
    documentsHashed: 0,
    documentsCounted: { source: 0, destination: 0 },
  };

  constructor(namespaces: number) {
    this.namespaces = namespaces;
  }

  doubt(namespace: Namespace, reason: string): void {
    this.doubts.push({ namespace, reason });
  }

  add({ namespace, generation, ranges, read }: Coverage, counted: Sides<number>): void {
    this.counts.push({ namespace, generation, counted });
    const { proof } = this;
    this.proof = {
      collections: proof.collections + 1,
      ranges: proof.ranges + ranges,
      documentsCompared: sum(proof.documentsCompared, read),
      documentsHashed: proof.documentsHashed + read.hashed,
      documentsCounted: sum(proof.documentsCounted, counted),
    };
  }
}

function sum(one: Sides<number>, other: Sides<number>): Sides<number> {
  return {
    source: one.source + other.source,
    destination: one.destination + other.destination,
  };
}

/** Counts from statistics, and one by one if these leave doubt. */
async function count(
  context: ProofContext,
  pair: NamespacePair,
  { read, isOfLast }: Coverage,
  tally: Tally,
): Promise<{ readonly counted: Sides<number>; readonly doubt: string | undefined }> {
  const { sides, signal } = context;
  const { namespace } = pair;
  return await retrying(context, 'count', async () => {
    const [source, destination] = await Promise.all([
      countByStatistics(sides.source, namespace, signal),
      countByStatistics(sides.destination, namespace, signal),
    ]);
    if (source !== undefined && destination !== undefined) {
      const counted = { source, destination };
      const evidence: CountEvidence = { read, tally, counted, isExpiring: false };
      if (isSettledByStatistics(evidence)) return { counted, doubt: undefined };
    }
    const counted = {
      source: await countByScan(sides.source, namespace, signal),
      destination: await countByScan(sides.destination, namespace, signal),
    };
    // An earlier pass did not check the expiry dates of documents on one side only: a difference is compared again.
    const isExpiring = isOfLast && (await expires(sides, pair, signal));
    return { counted, doubt: countDoubt({ read, tally, counted, isExpiring }) };
  });
}

/** How many reasons a message lists. */
const maxReasons = 5;

/** The first reasons, and how many more there are. */
export function shownReasons(reasons: readonly string[]): string {
  const more = reasons.length > maxReasons ? `; and ${reasons.length - maxReasons} more` : '';
  return reasons.slice(0, maxReasons).join('; ') + more;
}

/**
 * How a verification ends if nothing differs, but something is not proven to be equal. What is on record proves nothing any longer: a
 * further `check` compares everything again.
 */
export class NotProven extends SyncError {
  constructor(what: string, reasons: readonly string[]) {
    super(
      'CheckFailed',
      `${what}: ${shownReasons(reasons)}. Make sure that nothing writes to either side, then start another verification`,
    );
  }
}
