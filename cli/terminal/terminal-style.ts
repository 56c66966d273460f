import type { Style } from '../render/style.ts';

/** The environment variables that describe a terminal. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The style for an output.
 * @param isTerminal - whether the output is one. Colours are also left out if NO_COLOR is set to anything (no-color.org), and
 * on a terminal that calls itself dumb.
 */
export function terminalStyle(isTerminal: boolean, env: Environment): Style {
  const locales = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']];
  const locale = locales.find((one) => one !== undefined && one !== '') ?? '';
  const isDumb = env['TERM'] === 'dumb';
  return {
    hasColours: isTerminal && !isDumb && (env['NO_COLOR'] ?? '') === '',
    hasBlocks: /utf-?8/i.test(locale),
  };
}
