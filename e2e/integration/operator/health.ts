import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { run } from '../../ground/command.ts';
import { toolPath } from '../../ground/tool-path.ts';

const file = new URL('../../../docs/examples/argo-cd/health.yaml', import.meta.url);

/** What Argo CD or Flux make of a resource. */
export interface Health {
  readonly status: string;
  readonly message: string;
}

/** The health of a custom resource by the example's script, run with the Lua of Argo CD and no more than it has there. */
export async function argoHealth(object: KubeObject, kind: string): Promise<Health> {
  const { data } = parse(await readFile(file, 'utf8')) as { data: Record<string, string> };
  const script = data[`resource.customizations.health.clustersync.dev_${kind}`];
  assert.ok(script);
  const program = `
    local print = print
    io, os, string, math, debug, coroutine, channel = nil, nil, nil, nil, nil, nil, nil
    obj = ${luaLiteral(object)}
    local function health()
      ${script}
    end
    local result = health()
    print(result.status)
    print(result.message)`;
  const output = await run(toolPath('lua', 'glua'), ['-e', program]);
  const [status = '', message = ''] = output.split('\n');
  return { status, message };
}

/** What kstatus makes of an object, and so Flux. */
export async function kstatusOf(object: KubeObject): Promise<Health> {
  const output = await run(toolPath('kstatus', 'kstatus'), [], { input: JSON.stringify(object) });
  const [, status = '', message = ''] = /^(\w+) (.*)$/m.exec(output) ?? [];
  return { status, message };
}

function luaLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'string') return `"${[...Buffer.from(value)].map(luaByte).join('')}"`;
  if (Array.isArray(value)) return `{${value.map(luaLiteral).join(', ')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, each]) => `[${luaLiteral(key)}] = ${luaLiteral(each)}`,
  );
  return `{${entries.join(', ')}}`;
}

function luaByte(byte: number): string {
  return `\\${String(byte).padStart(3, '0')}`;
}
