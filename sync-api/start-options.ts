import type { StartBody } from './json.ts';
import schema from './start-body.schema.json' with { type: 'json' };

type Properties = typeof schema.properties;

/**
 * Fields of the body that do not say what is synced, nor how: the programs set the first two, the verifier is one of its own, and
 * limits change while the sync runs.
 */
export const notOptions = [
  'source',
  'destination',
  'verification',
  'limits',
] as const satisfies (keyof Properties)[];

/** An option of a start: a field of its body that a person chooses. */
export type StartOption = Exclude<keyof Properties, (typeof notOptions)[number]>;

/** The options of a start, in the order of the schema. */
export const startOptions: readonly StartOption[] = Object.keys(schema.properties).filter(
  (name): name is StartOption => !notOptions.some((each) => each === name),
);

/** What the schema says of an option: `x-flag` is about its flag on the command line. */
export interface StartOptionSchema {
  readonly type: 'boolean' | 'string' | 'integer' | 'number' | 'array' | 'object';
  readonly enum?: readonly string[];
  readonly default?: string | number | boolean;
  readonly 'x-flag': { readonly description: string; readonly valueName?: string };
}

export const startOptionSchemas = schema.properties as Readonly<
  Record<StartOption, StartOptionSchema>
>;

/** Values that are not filled in, but say the same as none: a start leaves them out, so that its digest is the same. */
export const sameAsNone: Readonly<Partial<Record<StartOption, string>>> = { initialData: 'Absent' };

type WithDefault = {
  [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Properties];

/** The options that a checked body always has: the schema fills them in. */
export type DefaultedOptions = Required<Pick<StartBody, WithDefault>>;

interface Node {
  readonly $ref?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Node>>;
}

/** The default of each option of POST /start, and of the fields of those that are objects. */
export const startDefaults: Readonly<Record<string, unknown>> = defaultsOf(schema);

function defaultsOf({ properties = {} }: Node): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, node]) => {
      if (node.default !== undefined) return [[name, node.default]];
      const inside = defaultsOf(node);
      return Object.keys(inside).length > 0 ? [[name, inside]] : [];
    }),
  );
}
