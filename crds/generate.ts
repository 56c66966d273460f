import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { format } from 'prettier';
import { chartTemplateOf } from './chart.ts';
import { DefinitionFile, schemaAt, type Definition } from './definition.ts';
import { rulesOf, type SchemaNode, type ValidationRule } from './json-schema.ts';
import { referenceOf } from './reference.ts';
import { putLimits, putStartOptions } from './start-options.ts';
import { selectionOptions } from '../verifier/store/selection.ts';
import { typescriptOf } from './typescript.ts';

const root = new URL('../', import.meta.url);
const style = { printWidth: 100, singleQuote: true } as const;

/** The expected content of every generated file, by its path from the root of the checkout. */
export async function generatedFiles(): Promise<Map<string, string>> {
  const syncs = new DefinitionFile(await readText('crds/clustersyncs.yaml'));
  const body = JSON.parse(await readText('sync-api/start-body.schema.json')) as SchemaNode;
  putStartOptions(syncs, body);
  putLimits(syncs, body);
  const verifications = new DefinitionFile(await readText('crds/syncverifications.yaml'));
  verifications.setSchema(
    ['properties', 'spec', 'properties', 'verifier', 'properties'],
    verifierOptions(syncs.definition),
  );
  verifications.setSchema(
    ['properties', 'spec', 'properties', 'filter', 'properties'],
    filterOptions(syncs.definition),
  );
  verifications.setSchema(
    ['properties', 'spec', 'properties', 'filter', 'x-kubernetes-validations'],
    filterRules(syncs.definition, verifications.definition),
  );
  verifications.setSchema(
    ['properties', 'status', 'properties', 'conditions', 'items'],
    schemaAt(syncs.definition, 'status', 'conditions', 'items'),
  );
  const files = new Map<string, string>();
  const add = async (path: string, text: string, parser: 'yaml' | 'markdown' | 'typescript') => {
    files.set(path, await format(text, { ...style, parser }));
  };
  for (const [file, { definition }] of [
    ['clustersyncs', syncs],
    ['syncverifications', verifications],
  ] as const) {
    const text = (file === 'clustersyncs' ? syncs : verifications).toString();
    await add(`crds/${file}.yaml`, text, 'yaml');
    files.set(`charts/clustersync/templates/crds/${file}.yaml`, chartTemplateOf(text));
    const typesPath = `operator/api/generated/${definition.spec.names.kind.toLowerCase()}.ts`;
    await add(typesPath, await typescriptOf(definition), 'typescript');
  }
  const reference = referenceOf([syncs.definition, verifications.definition]);
  await add('docs/reference/api.md', reference, 'markdown');
  return files;
}

/**
 * The verifier's pods have the same options as the syncer's, but for those of what only a sync has; how many there are, `parallelism`
 * says.
 */
function verifierOptions(syncs: Definition): unknown {
  const {
    instances: _,
    copyWorkers: _copy,
    applyWorkers: _apply,
    replaceLostPodsAfterSeconds: _replace,
    ...options
  } = schemaAt(syncs, 'spec', 'syncer').properties ?? {};
  const text = JSON.stringify(options)
    .replaceAll('sync tool', 'verifier')
    .replaceAll('syncer', 'verifier');
  return JSON.parse(text) as unknown;
}

/** A verification selects namespaces like a sync. */
function filterOptions(syncs: Definition): unknown {
  const options = selectionOptions.map((name) => {
    const node = schemaAt(syncs, 'spec', name);
    return [name, { ...node, description: node.description?.replace(' to sync', ' to compare') }];
  });
  return Object.fromEntries(options) as unknown;
}

/**
 * What a sync refuses to select is refused here, too: it would not be compared, and not be missed. A sync's selection cannot be
 * changed, but a filter can.
 */
function filterRules(syncs: Definition, verifications: Definition): readonly ValidationRule[] {
  const own = rulesOf(schemaAt(verifications, 'spec', 'filter'));
  const ofSyncs = rulesOf(schemaAt(syncs, 'spec')).filter(
    ({ fieldPath, optionalOldSelf = false }) =>
      optionalOldSelf && selectionOptions.some((name) => fieldPath === `.${name}`),
  );
  return [
    ...own.filter(({ optionalOldSelf = false }) => !optionalOldSelf),
    ...ofSyncs.map(({ rule, message, ...more }) => ({
      rule: rule.replace(
        /^oldSelf\.hasValue\(\)/,
        '(oldSelf.hasValue() && oldSelf.value() == self)',
      ),
      message: message.replace('never synced', 'never compared'),
      ...more,
    })),
  ];
}

async function readText(path: string): Promise<string> {
  return await readFile(new URL(path, root), 'utf8');
}

if (import.meta.main) {
  for (const [path, text] of await generatedFiles()) {
    const file = new URL(path, root);
    await mkdir(dirname(file.pathname), { recursive: true });
    await writeFile(file, text);
  }
}
