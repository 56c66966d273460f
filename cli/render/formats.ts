import { stringify } from 'yaml';

/** The forms in which commands tell what they have found. */
export const outputFormats = ['text', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** A value in a form for programs; in the one for people where `text` is asked for. */
export function formatted(value: object, format: OutputFormat, text: () => string): string {
  switch (format) {
    case 'text':
      return text();
    case 'json':
      return `${JSON.stringify(value, undefined, 2)}\n`;
    case 'yaml':
      return stringify(value);
  }
}

/** Lines of names and values, the values under each other; those that are undefined are left out. */
export function fieldLines(fields: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...given.map(([name]) => name.length)) + 2;
  return given.map(([name, value]) => `${name.padEnd(width)}${value ?? ''}\n`).join('');
}
