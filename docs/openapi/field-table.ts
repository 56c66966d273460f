import type { SchemaNode } from '../../crds/json-schema.ts';
import type { OpenApiDocument } from './documents.ts';

/** A row of a table of fields. */
export interface FieldRow {
  /** Path from the top: `collectionCopy.estimatedTotalBytes`. */
  readonly path: string;
  /** `integer or null`. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly default: unknown;
  readonly description: string;
}

/**
 * The fields of a schema of the document, those within objects by their paths; what a list holds is left to its description.
 * @throws Error when a field has no description.
 */
export function fieldRows(document: OpenApiDocument, name: string): FieldRow[] {
  return rowsOf(schemaNamed(document, name), '');
}

function rowsOf(schema: SchemaNode, prefix: string): FieldRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]): FieldRow[] => {
    const path = `${prefix}${name}`;
    const inner = field.properties === undefined ? [] : rowsOf(field, `${path}.`);
    if (field.description === undefined) {
      if (inner.length > 0) return inner;
      throw new Error(`${path} has no description`);
    }
    return [
      {
        path,
        type: typeOf(field),
        isRequired: schema.required?.includes(name) ?? false,
        default: field.default,
        description: field.description,
      },
      ...inner,
    ];
  });
}

function typeOf({ type, enum: choices }: SchemaNode): string {
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ');
  return typeof type === 'string' ? type : (type ?? []).join(' or ');
}

function schemaNamed({ components }: OpenApiDocument, name: string): SchemaNode {
  const schema = components.schemas[name];
  if (!schema) throw new Error(`the document has no schema ${name}`);
  return schema;
}
