type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/**
 * A value in canonical extended JSON, in the relaxed form that migration-verifier answers: numbers and dates as such. A number that
 * JSON does not hold exactly stays canonical. A text that is not JSON, since it was shortened, stays a text.
 */
export function relaxedForm(canonical: string): Json {
  try {
    return relaxed(JSON.parse(canonical) as Json);
  } catch {
    return canonical;
  }
}

function relaxed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(relaxed);
  const [[name, inner] = ['', null], ...others] = Object.entries(value);
  if (others.length === 0) {
    const number = numberIn(name, inner);
    if (number !== undefined) return number;
    if (name === '$date') return { $date: dateIn(inner) ?? inner };
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, relaxed(each)]));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function numberIn(name: string, text: Json): number | undefined {
  if (typeof text !== 'string') return undefined;
  const number = Number(text);
  switch (name) {
    case '$numberInt':
    case '$numberLong':
      return Number.isSafeInteger(number) ? number : undefined;
    case '$numberDouble':
      return Number.isFinite(number) && !Object.is(number, -0) ? number : undefined;
    default:
      return undefined;
  }
}

/** Relaxed extended JSON has ISO times for the years 1970 to 9999. */
function dateIn(inner: Json): string | undefined {
  const { $numberLong: text } = (inner ?? {}) as { readonly $numberLong?: unknown };
  const ms = typeof text === 'string' ? Number(text) : NaN;
  const isNamed = ms >= 0 && ms < Date.UTC(10_000, 0);
  return isNamed ? new Date(ms).toISOString().replace('.000Z', 'Z') : undefined;
}
