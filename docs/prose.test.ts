import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { plainWords } from './plain-words.ts';
import { longSentences, wordyPlaces } from './prose.ts';
import { checkout, markdownFiles } from './site/sources.ts';

/** What is generated from sources that are read too, recorded, or the list itself. */
const excluded = [
  '**/*.test.ts',
  '**/generated/**',
  'crds/recorded/**',
  'docs/plain-words.ts',
  'docs/style.md',
];

const sources = [
  '*.md',
  '{bench,bin,cli,crds,dashboard,docs,mongo,operator,service,sync-api,syncer,verifier}/**/*.{ts,md}',
  '{charts,crds,docs,sync-api}/**/*.{yaml,json,txt,tpl,md,dot}',
];

/** Pages of contributors, and reports of measurements: they may have long sentences. */
const forContributors = /^(?:bench|docs\/decisions)\/|^docs\/(?:architecture|threat-model)\.md$/;

const mostWords = 40;

function read(path: string): string {
  return readFileSync(new URL(path, checkout), 'utf8');
}

describe('prose', () => {
  it('has no phrase that docs/plain-words.ts has better words for', () => {
    const found = globSync(sources, { cwd: fileURLToPath(checkout), exclude: excluded });
    const paths = [...new Set(found)].sort();
    assert.ok(paths.length > 600, `${paths.length} files`);
    assert.deepEqual(
      paths.flatMap((path) => wordyPlaces(path, read(path))),
      [],
    );
  });

  it(`has no sentence of more than ${mostWords} words on the pages for users`, async () => {
    const paths = (await markdownFiles()).filter((path) => !forContributors.test(path));
    assert.ok(paths.length > 30, `${paths.length} pages`);
    const long = paths.flatMap((path) =>
      longSentences(read(path), mostWords).map((sentence) => `${path}: ${sentence}`),
    );
    assert.deepEqual(long, []);
  });
});

describe('plainWords', () => {
  for (const { instead, write, pattern } of plainWords) {
    it(`finds "${instead}", and not "${write}"`, () => {
      const found = (text: string): number => [...text.matchAll(pattern)].length;
      assert.ok(found(instead) > 0);
      assert.equal(found(write), 0);
    });
  }
});

describe('wordyPlaces', () => {
  const found = (line: number, path = 'a.ts'): string[] => [
    `${path}:${line}: "at once": write "immediately; at the same time"`,
  ];
  const cases: Readonly<Record<string, readonly [string, readonly string[], string?]>> = {
    'a comment': ['const a = 1; // All at once.', found(1)],
    'a comment in one line': ['class A {\n  /** All at once. */\n  b = 1;\n}', found(2)],
    'a wrapped comment': ['/**\n * All at\n * once.\n */', found(2)],
    'a text': ["const a = 'all of them at once';", found(1)],
    'a text with values': ['const a = `all of ${b} are here at once`;', found(1)],
    'a capital': ['// At once.', [found(1)[0]?.replace('at once"', 'At once"') ?? '']],
    'Markdown, wrapped': ['All at\nonce.', found(1, 'a.md'), 'a.md'],
    'a comment of YAML, wrapped': ['a: 1\n# All at\n# once.', found(2, 'a.yaml'), 'a.yaml'],
    'no short text': ["const a = 'at once';", []],
    'no code': ['const a = at.once + `${at} ${once} ${and} ${a} ${b}`;', []],
    'no value in a text': ['const a = `all of them are ${at} once again`;', []],
    'no comment and the next code': ['// All at\nonce();', []],
    'no block of code': ['```\nat once\n```\nand `at once`', [], 'a.md'],
  };
  for (const [name, [text, expected, path = 'a.ts']] of Object.entries(cases)) {
    it(`finds ${name}`, () => {
      assert.deepEqual(wordyPlaces(path, text), expected);
    });
  }
});

describe('longSentences', () => {
  it('counts words by sentences, items, cells and paragraphs', () => {
    const short = 'One two three four.';
    const texts = [
      `${short} ${short}`,
      `One two three\n\nfour five six`,
      `- One two three\n- four five six`,
      `| One two three | four five six |`,
      '# One two three four five six',
      '```\nOne two three four five six\n```',
      'One [two](with/many parts) `three four five six`.',
    ];
    for (const text of texts) assert.deepEqual(longSentences(text, 5), [], text);
    assert.deepEqual(longSentences(`${short} One two three: four, five\nsix.`, 5), [
      '6: One two three: four, five six.',
    ]);
  });
});
