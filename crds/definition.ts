import { isMap, isScalar, parseDocument, type Document } from 'yaml';
import type { SchemaNode, ValidationRule } from './json-schema.ts';

/** The parts of a CustomResourceDefinition that the generators read. */
export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly [
      {
        readonly name: string;
        readonly selectableFields?: readonly { readonly jsonPath: string }[];
        readonly schema: { readonly openAPIV3Schema: SchemaNode };
      },
    ];
  };
}

const rootPath = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema'] as const;

/** A CustomResourceDefinition's file, with its comments and order preserved. */
export class DefinitionFile {
  readonly #document: Document;

  constructor(text: string) {
    this.#document = parseDocument(text);
    const [error] = this.#document.errors;
    if (error) throw error;
  }

  get definition(): Definition {
    return this.#document.toJS() as Definition;
  }

  /**
   * Replaces a node of the schema.
   * @param after - the property that a new one follows; without it, the node must exist.
   */
  setSchema(path: readonly string[], node: unknown, after?: string): void {
    const full = [...rootPath, ...path.flatMap((name) => name.split('.'))];
    const made = this.#document.createNode(node, { aliasDuplicateObjects: false });
    if (isMap(made)) made.flow = false;
    if (this.#document.hasIn(full)) {
      this.#document.setIn(full, made);
      return;
    }
    const beside = this.#document.getIn(full.slice(0, -1));
    const index = isMap(beside)
      ? beside.items.findIndex(({ key }) => isScalar(key) && key.value === after)
      : -1;
    if (!isMap(beside) || index === -1) throw new Error(`the schema has no ${path.join('.')}`);
    beside.items.splice(index + 1, 0, this.#document.createPair(full.at(-1), made));
  }

  /** Adds a CEL rule to the last ones of a node. */
  addRule(path: readonly string[], rule: ValidationRule): void {
    this.#document.addIn([...rootPath, ...path, 'x-kubernetes-validations'], rule);
  }

  toString(): string {
    return this.#document.toString({ lineWidth: 0 });
  }
}

/** The schema at a path of property names. */
export function schemaAt({ spec }: Definition, ...path: readonly string[]): SchemaNode {
  let node: SchemaNode | undefined = spec.versions[0].schema.openAPIV3Schema;
  for (const name of path) node = name === 'items' ? node?.items : node?.properties?.[name];
  if (!node) throw new Error(`the schema has no ${path.join('.')}`);
  return node;
}
