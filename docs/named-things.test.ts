import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { codeAndComments, strayNames, type NamingText } from './named-things.ts';
import { checkout } from './site/sources.ts';

/** Names of others, which this project only writes of. */
const foreignNames: Readonly<Record<string, readonly string[]>> = {
  MongoDB: [
    'NumberDecimal',
    'NumberLong',
    'KeyString',
    'WiredTiger',
    'bypassEmptyTsReplacement',
    'commitQuorum',
    'defaultMaxTimeMS',
    'maxBSONDepth',
    'moveCollection',
    'OP_COMPRESSED',
    'OP_QUERY',
    'OP_REPLY',
    'printReplicationInfo',
    'querySettings',
    'showSystemEvents',
    'supportedEvents',
    'unshardCollection',
    'updateDescription',
  ],
  'Kubernetes and Prometheus': ['MicroTime', 'promtool'],
  'Node.js, browsers and C': ['EventSource', 'MALLOC_ARENA_MAX', 'NODE_V8_COVERAGE', 'onread'],
  'Argo CD': ['RespectIgnoreDifferences', 'ignoreDifferences'],
  terminals: ['tmux'],
  zsh: ['fpath'],
  'Markdown of others': ['GitHub'],
  'kinds of documents and languages': ['OpenAPI', 'TypeScript'],
  'what is written or built': ['dist/sbom.json', 'utils.ts', 'x.ts', 'x.test.ts'],
};

/** All names of mongosync, which from-mongosync.test.ts holds, and pages that are generated from the code itself. */
function isExempt(path: string, text: string): boolean {
  return path === 'docs/from-mongosync.md' || text.startsWith('<!-- Generated');
}

const codeFiles =
  '{*,.githooks/*,.github/**/*,{bench,bin,charts,cli,crds,dashboard,docs,e2e,mongo,operator,service,sync-api,syncer,verifier}/**/*}';

function readCheckout(): {
  readonly texts: readonly NamingText[];
  readonly words: ReadonlySet<string>;
  readonly paths: readonly string[];
} {
  const texts: NamingText[] = [];
  const words = new Set<string>();
  const paths: string[] = [];
  const entries = globSync(codeFiles, {
    cwd: fileURLToPath(checkout),
    exclude: ['node_modules', 'dist', 'e2e/.artifacts'],
    withFileTypes: true,
  });
  for (const entry of entries) {
    const path = `${entry.parentPath}/${entry.name}`.slice(fileURLToPath(checkout).length);
    paths.push(path);
    if (!entry.isFile() || /^bench\/results\/.*\.(?:json|svg)$|^package-lock/.test(path)) continue;
    const text = readFileSync(new URL(path, checkout), 'utf8');
    if (path.endsWith('.md')) {
      if (!isExempt(path, text)) texts.push({ path, text });
      continue;
    }
    const isThis = path === 'docs/named-things.test.ts';
    const { code, comments } = path.endsWith('.ts')
      ? codeAndComments(text)
      : { code: text, comments: '' };
    if (comments !== '') texts.push({ path, text: comments });
    // Its examples and exceptions are no code.
    if (!isThis) for (const word of code.split(/[^\w$]+/)) words.add(word);
  }
  return { texts, words, paths };
}

describe('what texts and comments name', () => {
  it('is there, and each exception is needed', () => {
    const { texts, words, paths } = readCheckout();
    assert.ok(texts.length > 500 && words.size > 5000 && paths.length > 1000);
    const stray = strayNames(texts, { words, paths });
    const foreign = new Set(Object.values(foreignNames).flat());
    const nameOf = (line: string): string => line.slice(line.indexOf(': ') + 2);
    assert.deepEqual(
      stray.filter((line) => !foreign.has(nameOf(line))),
      [],
    );
    const used = new Set(stray.map(nameOf));
    assert.deepEqual(
      [...foreign].filter((name) => !used.has(name)),
      [],
    );
  });
});

describe('strayNames', () => {
  const things = {
    words: new Set(['readRanges', 'spec', 'commitMode', 'RANGE_BYTES', 'Ranges', 'meet']),
    paths: ['syncer', 'syncer/copy', 'syncer/copy/read-ranges.ts', 'docs/limits.md'],
  };

  for (const text of [
    '`readRanges` and `readRanges()`, `spec.commitMode`, `RANGE_BYTES`, `meet`, `commitMode: true`',
    '`syncer/copy/`, `syncer/copy/read-ranges.ts`, `read-ranges.ts`, `../docs/limits.md`',
    'writeRanges without backticks, and ordinary `words in a row`, `--some-flag`.',
    '```sh\n`writeRanges`\n```',
  ]) {
    it(`finds nothing in ${JSON.stringify(text)}`, () => {
      assert.deepEqual(strayNames([{ path: 'a.md', text }], things), []);
    });
  }

  for (const [text, name] of [
    ['`writeRanges`', 'writeRanges'],
    ['`writeRanges()`', 'writeRanges'],
    ['`Ranges.writeRanges`', 'writeRanges'],
    ['`{ writeMode: 1 }`', 'writeMode'],
    ['`RANGES_BYTES`', 'RANGES_BYTES'],
    ['`gather`', 'gather'],
    ['`copy/write-ranges.ts`', 'copy/write-ranges.ts'],
    ['`write-ranges.ts`', 'write-ranges.ts'],
    ['`verifier/copy/`', 'verifier/copy/'],
  ] as const) {
    it(`finds ${text}`, () => {
      assert.deepEqual(strayNames([{ path: 'a.md', text }], things), [`a.md: ${name}`]);
    });
  }

  it('finds names in comments without backticks too, but not in addresses', () => {
    const text = '// As writeRanges does (write-ranges.ts). See https://example.com/otherRanges.';
    const found = ['a.ts: writeRanges', 'a.ts: write-ranges.ts'];
    assert.deepEqual(strayNames([{ path: 'a.ts', text }], things), found);
  });
});

describe('codeAndComments', () => {
  it('tells them apart, and takes titles of tests for neither', () => {
    const source = [
      '/** Of a. */',
      'const a = 1; // Of b.',
      '  // Of c.',
      '  /** Of h. */',
      "const url = 'http://d';",
      '/**',
      ' * Of e.',
      ' */',
      'const f = 2 * 3;',
      "describe('g', () => {});",
    ].join('\n');
    const { code, comments } = codeAndComments(source);
    assert.deepEqual(comments.match(/\b[a-z]\b/g), ['a', 'b', 'c', 'h', 'e']);
    assert.deepEqual(code.match(/\b[a-z]\b/g), ['a', 'd', 'f']);
  });
});
