import type { Linter } from 'eslint';
import { defineConfig } from 'eslint/config';
import * as regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

/** The import arrows of the architecture: bin -> operator | syncer | verifier | cli -> dashboard, sync-api, mongo, service. */
const arrows: Record<string, readonly string[]> = {
  service: [
    'bin',
    'operator',
    'syncer',
    'verifier',
    'cli',
    'dashboard',
    'sync-api',
    'mongo',
    'e2e',
    'bench',
  ],
  mongo: ['bin', 'operator', 'syncer', 'verifier', 'cli', 'dashboard', 'sync-api', 'e2e', 'bench'],
  'sync-api': [
    'bin',
    'operator',
    'syncer',
    'verifier',
    'cli',
    'dashboard',
    'mongo',
    'e2e',
    'bench',
  ],
  dashboard: ['bin', 'operator', 'syncer', 'verifier', 'cli', 'mongo', 'e2e', 'bench'],
  syncer: ['bin', 'operator', 'verifier', 'cli', 'dashboard', 'e2e', 'bench'],
  verifier: ['bin', 'operator', 'syncer', 'cli', 'dashboard', 'e2e', 'bench'],
  operator: ['bin', 'syncer', 'verifier', 'cli', 'e2e', 'bench'],
  cli: ['bin', 'operator', 'syncer', 'verifier', 'e2e', 'bench'],
  bin: ['e2e', 'bench'],
};

/** The rooms of a folder, and files beside them, by floors from the ground up: each imports what is on lower floors alone. */
const floors: Record<string, readonly (readonly string[])[]> = {
  operator: [
    ['kube'],
    ['api'],
    ['operand'],
    ['leases'],
    ['commit'],
    // Neither of the two resources knows of the other: what both need is in operand/.
    ['clustersync', 'verification'],
    ['dashboard'],
  ],
  syncer: [
    ['options'],
    ['store'],
    ['instances', 'monitor'],
    ['limits'],
    ['source', 'destination'],
    ['reset'],
    ['copy'],
    ['ddl'],
    ['changes', 'commit', 'preflight'],
    ['reverse'],
    ['lifecycle'],
    ['api'],
    ['main'],
  ],
  verifier: [
    ['monitor', 'wakeup'],
    ['compare'],
    ['store'],
    ['passes', 'tasks'],
    ['participate', 'report'],
    ['verifier'],
    ['api'],
    ['main'],
  ],
};

/** The rooms of syncer/ that ask the source and write to the destination: by the two objects alone, which retry and fence. */
const throughObjects = ['copy', 'ddl', 'changes', 'commit', 'reverse'];

interface ForbiddenImports {
  readonly regex: string;
  readonly message: string;
}

function forbiddenFolders(folder: string, forbidden: readonly string[]): ForbiddenImports[] {
  const others = {
    regex: `^(\\.\\./)+(${forbidden.join('|')})(/|$)`,
    message: `${folder}/ must not import this folder (see docs/architecture.md, import arrows)`,
  };
  const databases = {
    regex: '^(\\.\\./)+mongo/(?!connection-options\\.ts$)',
    message: 'operator/ connects to no database: of mongo/ it imports connection-options alone',
  };
  return folder === 'operator' ? [others, databases] : [others];
}

/** The rules of imports of some files. Of several that fit a file, ESLint applies the last alone. */
function importRules(files: string, patterns: readonly ForbiddenImports[]): Linter.Config {
  return { files: [files], rules: { 'no-restricted-imports': ['error', { patterns }] } };
}

const commands = {
  regex:
    '^(\\.\\./)+mongo/(retrying|run-command|one-primary|earlier-connections|ask-server|config-database|oplog)\\.ts$',
  message: 'clusters are asked by Source, and written to by Destination (see docs/architecture.md)',
};

function roomRules(folder: string, forbidden: readonly string[]): Linter.Config[] {
  const ordered = floors[folder] ?? [];
  return ordered.flatMap((rooms, floor) =>
    rooms.flatMap((room) => {
      const others = ordered
        .slice(floor)
        .flat()
        .filter((each) => each !== room);
      const patterns = (up: string): ForbiddenImports[] => [
        ...forbiddenFolders(folder, forbidden),
        ...(folder === 'syncer' && throughObjects.includes(room) ? [commands] : []),
        {
          regex: `^${up}/(${others.join('|')})(/|\\.ts$)`,
          message: `${folder}/${room} imports what is on lower floors alone (see eslint.config.ts)`,
        },
      ];
      return [
        importRules(`${folder}/${room}/**/*.ts`, patterns('(\\.\\./)*\\.\\.')),
        importRules(`${folder}/${room}.ts`, patterns('\\.')),
      ];
    }),
  );
}

const arrowRules = Object.entries(arrows).flatMap(([folder, forbidden]) => [
  importRules(`${folder}/**/*.ts`, forbiddenFolders(folder, forbidden)),
  ...roomRules(folder, forbidden),
]);

/** Data from outside is unknown until it is checked: what servers answer is read by mongo/checked-value.ts. */
const uncheckedAnswers = [
  {
    selector: `TSAsExpression > AwaitExpression > CallExpression[callee.property.name='command']`,
    message: 'what a server answers is read by CheckedValue (runCommand)',
  },
  {
    selector: `CallExpression[callee.computed=false][callee.property.name='command'][callee.object.type!='Super']`,
    message: 'commands go by runCommand, whose answers are checked',
  },
  {
    selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]',
    message: 'what is stored is read by storedDocument, and what is answered by CheckedValue',
  },
  {
    selector: `CallExpression[callee.property.name='toArray']`,
    message: 'a cursor is read by readWhole, which ends where the server does not',
  },
];

const restrictedSyntax = [
  { selector: 'TSEnumDeclaration', message: 'use a union of strings' },
  { selector: 'ExportDefaultDeclaration', message: 'use a named export' },
];

const terminal = 'what goes to a terminal goes by service/terminal.ts';
const expression =
  'an expression is a literal: what is made when the program runs, no rule can look at';

/** The ways around service/terminal.ts, and around the rules of expressions; service/ways-around.test.ts goes them. */
const ways = [
  ...[
    `MemberExpression[object.name='process'][property.name=/^(stdout|stderr|_rawDebug|emitWarning)$/]`,
    `MemberExpression[object.name='process'][computed=true]:not([property.value='env'])`,
    `MemberExpression[object.name=/^(globalThis|global)$/][property.name=/^(process|console)$/]`,
    `VariableDeclarator[init.name=/^(process|console|globalThis)$/]`,
    `ImportDeclaration[source.value=/^(node:)?(process|console|tty)$/][importKind!='type']`,
    `ImportExpression[source.value=/^(node:)?(process|console|tty)$/]`,
    `Literal[value=/^\\/(dev\\/(std(out|err)|tty|fd)|proc\\/self\\/fd)/]`,
    `CallExpression[callee.name='writeSync'][arguments.0.type='Literal']`,
    `Property[key.name='stdio'][value.value='inherit']`,
    `Property[key.name='stdio'] > ArrayExpression > Literal[value='inherit']:not(:first-child)`,
  ].map((selector) => ({ selector, message: terminal })),
  ...[
    `NewExpression[callee.name='RegExp']`,
    `CallExpression[callee.name='RegExp']`,
    `MemberExpression[property.name='RegExp']`,
    `CallExpression[callee.property.name=/^(match|matchAll|search)$/][arguments.0.type='TemplateLiteral']`,
    `CallExpression[callee.property.name=/^(match|matchAll|search)$/] > Literal[raw=/^['"]/]:first-child`,
  ].map((selector) => ({ selector, message: expression })),
];

export default defineConfig(
  {
    ignores: [
      'dist/',
      'coverage/',
      'node_modules/',
      'operator/api/generated/',
      'sync-api/generated/',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/return-await': ['error', 'always'],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // Index signatures need brackets (tsconfig noPropertyAccessFromIndexSignature).
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      'max-lines': ['error', { max: 400, skipComments: true, skipBlankLines: true }],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...restrictedSyntax],
    },
  },
  ...arrowRules,
  {
    files: Object.keys(arrows).map((folder) => `${folder}/**/*.ts`),
    ignores: ['service/terminal.ts', '**/*.test.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...restrictedSyntax, ...ways],
    },
  },
  {
    files: ['mongo/**/*.ts', 'syncer/**/*.ts', 'verifier/**/*.ts'],
    ignores: ['**/*.test.ts', 'mongo/testing/**'],
    rules: {
      'no-restricted-syntax': ['error', ...restrictedSyntax, ...ways, ...uncheckedAnswers],
    },
  },
  {
    // Text comes from outside: the work of an expression grows with its length, not with the square of it.
    files: Object.keys(arrows).map((folder) => `${folder}/**/*.ts`),
    ignores: ['**/*.test.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  {
    files: ['**/*.test.ts', 'e2e/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/no-floating-promises': 'error',
    },
  },
  { files: ['*.config.ts'], rules: { 'no-restricted-syntax': 'off' } },
);
