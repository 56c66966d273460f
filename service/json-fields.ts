/** A JSON object from outside, with unknown fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The value if it is an object, otherwise an empty one. */
export function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

/** The value if it is an array, otherwise an empty one. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The value if it is a number, otherwise undefined. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The value if it is a text, otherwise undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The texts of an array. */
export function textsOf(value: unknown): readonly string[] {
  return arrayOf(value).filter((one) => typeof one === 'string');
}
