import type { NamespaceFilter } from './namespace-filter.ts';
import { namespaceText, type Namespace } from './namespace.ts';

/** How many names to list for each entry. */
const maxExamples = 5;

/** What one entry of a filter matches among the existing namespaces. */
export interface EntrySelection {
  /** `includeNamespaces[0]` and so on. */
  readonly entry: string;
  /** 0 if it matches nothing: perhaps a name is misspelt. */
  readonly namespaces: number;
  /** The first of them, by their names. */
  readonly examples: readonly string[];
}

/** Counts what each entry of a filter matches, so that a person can check whether that is what was meant. */
export class FilterSelection {
  readonly #filter: NamespaceFilter;
  readonly #examples: Map<string, readonly string[]>;
  readonly #counts = new Map<string, number>();

  constructor(filter: NamespaceFilter) {
    this.#filter = filter;
    this.#examples = new Map(filter.entryNames.map((name) => [name, []]));
  }

  /** Counts a namespace, selected or not. */
  async add(namespace: Namespace): Promise<void> {
    if (this.#examples.size === 0) return;
    const text = namespaceText(namespace);
    for (const entry of await this.#filter.entriesFor(namespace)) {
      this.#counts.set(entry, (this.#counts.get(entry) ?? 0) + 1);
      const examples = this.#examples.get(entry) ?? [];
      // A server lists collections in no particular order.
      this.#examples.set(entry, [...examples, text].sort().slice(0, maxExamples));
    }
  }

  /** In the order of the filter. */
  entries(): EntrySelection[] {
    return Array.from(this.#examples, ([entry, examples]) => {
      return { entry, namespaces: this.#counts.get(entry) ?? 0, examples };
    });
  }
}

/** What an entry matches, in a few words. */
export function selectionText({ entry, namespaces, examples }: EntrySelection): string {
  if (namespaces === 0) return `${entry} matches nothing`;
  const more = namespaces - examples.length;
  return `${entry} means ${examples.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
