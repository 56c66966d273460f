import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkout } from '../site/sources.ts';
import { maxPictureBytes } from './recording.ts';

function read(path: string): string {
  return readFileSync(new URL(path, checkout), 'utf8');
}

/** Where the texts are that `make try` prints. */
const printing = '{cli,e2e/demo,service}/**/*.ts';

/** Every text of the recording. */
const recorded = [...read('docs/pictures/run.svg').matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(
  ([, text = '']) => text,
);

/** What is typed in it. */
const typed = recorded.filter((text) => text.startsWith('$ '));

/** The texts that are the same in every run: of three words and more, without numbers. */
function constantTexts(): string[] {
  const constant = recorded.filter(
    (text) => !typed.includes(text) && !/\d/.test(text) && text.split(' ').length >= 3,
  );
  // A reason follows these words, and is cut where the line ends.
  return [...new Set(constant.map((text) => text.replace(/^not yet: |\S* ?…$/g, '').trim()))];
}

describe('the pictures of README.md', () => {
  const readme = read('README.md');

  it('are small', () => {
    const paths = [...readme.matchAll(/docs\/pictures\/[\w-]+\.(?:svg|png)/g)].map(
      ([path]) => path,
    );
    assert.ok(paths.length >= 4, paths.join());
    for (const path of paths) {
      const { size } = statSync(new URL(path, checkout));
      assert.ok(size > 0 && size <= maxPictureBytes, `${path}: ${size} bytes`);
    }
  });

  it('have words for those who do not see them', () => {
    const pictures = readme.match(/!\[|<img\b/g) ?? [];
    const words = [...readme.matchAll(/!\[([^\]]*)\]|<img alt="([^"]*)"/g)].map(
      ([, markdown, html]) => (markdown ?? html ?? '').split(' ').length,
    );
    assert.equal(words.length, pictures.length);
    assert.ok(words.length >= 3 && words.every((count) => count >= 10), words.join());
  });

  it('show what is still printed: otherwise run `make pictures`', () => {
    const paths = globSync(printing, {
      cwd: fileURLToPath(checkout),
      exclude: ['**/*.test.ts', '**/pictures.ts'],
    });
    const printed = paths.map((path) => read(path).replaceAll('\\`', '`')).join('\n');
    const texts = constantTexts();
    assert.ok(texts.length >= 10, texts.join('\n'));
    const stale = texts.filter((text) => !printed.includes(text));
    assert.deepEqual(stale, []);
    const flags = typed.flatMap((text) => text.match(/--[\w-]+/g) ?? []);
    assert.ok(flags.length >= 4, typed.join('\n'));
    const known = read('docs/reference/options.md');
    assert.deepEqual(
      flags.filter((flag) => !known.includes(`\`${flag.replace(/-file$/, '')}\``)),
      [],
    );
  });
});
