/** A node of a JSON Schema, or of a CustomResourceDefinition's schema: what the generators read and write. */
export interface SchemaNode {
  readonly [keyword: string]: unknown;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly definitions?: Readonly<Record<string, SchemaNode>>;
  readonly $ref?: string;
}

/** A CEL rule of a CustomResourceDefinition's schema. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  /** Whether it also applies to a new value: `oldSelf` is optional then. */
  readonly optionalOldSelf?: boolean;
}

/** The CEL rules of a node. */
export function rulesOf(node: SchemaNode): readonly ValidationRule[] {
  return (node['x-kubernetes-validations'] as readonly ValidationRule[] | undefined) ?? [];
}

/** Applies a function to each value of a record. */
export function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
