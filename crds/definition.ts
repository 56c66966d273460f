import { isMap, parseDocument, type Document } from 'yaml';
import type { SchemaNode } from './json-schema.ts';

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

  /** Replaces an existing node of the schema. */
  setSchema(path: readonly string[], node: unknown): void {
    const full = [...rootPath, ...path.flatMap((name) => name.split('.'))];
    if (!this.#document.hasIn(full)) {
      throw new Error(`the schema has no ${path.join('.')}`);
    }
    const made = this.#document.createNode(node, { aliasDuplicateObjects: false });
    if (isMap(made)) made.flow = false;
    this.#document.setIn(full, made);
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
