import { stringify } from 'yaml';
import { harmless } from '../../service/harmless.ts';
import { harmlessJson } from '../../service/terminal.ts';

/** The output formats of commands. */
export const outputFormats = ['text', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** A value in a machine-readable format, or for people if the format is `text`. */
export function formatted(value: object, format: OutputFormat, text: () => string): string {
  switch (format) {
    case 'text':
      return text();
    case 'json':
      return `${harmlessJson(JSON.stringify(value, undefined, 2))}\n`;
    case 'yaml':
      return yamlText(value);
  }
}

/** YAML supports JSON's escapes only between quotation marks. */
function yamlText(value: object): string {
  const plain = stringify(value);
  if (harmlessJson(plain) === plain) return plain;
  const quoted = { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' } as const;
  return harmlessJson(stringify(value, quoted));
}

/** Lines of names and values, with aligned values; undefined ones are left out. */
export function fieldLines(fields: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = given.reduce((longest, [name]) => Math.max(longest, name.length), 0) + 2;
  return given.map(([name, value]) => `${name.padEnd(width)}${harmless(value ?? '')}\n`).join('');
}
