import assert from 'node:assert/strict';
import { BSON, type Document } from 'mongodb';
import type { ProxiedReplicaSet } from '../../ground/mongod/proxied-replica-set.ts';
import { commandOf } from './command-kind.ts';

const writes = ['insert', 'update', 'delete', 'findAndModify', 'drop', 'create', 'createIndexes'];

/** The commands that a program sends for a database from now on. */
export function commandsFor(database: string, { proxies }: ProxiedReplicaSet): readonly Document[] {
  const sent: Document[] = [];
  for (const proxy of proxies)
    proxy.strandAt((bytes) => {
      const command = bytes.includes(database) ? commandOf(bytes) : undefined;
      if (command?.['$db'] === database) sent.push(command);
      return false;
    });
  return sent;
}

/**
 * Asserts that each write among commands waits for a majority that has it in its journal, and that there are some of each of these kinds,
 * such as `insert tasks`.
 * @param mayBeLost - the writes that need not wait.
 */
export function assertDurable(
  sent: readonly Document[],
  expected: readonly string[],
  mayBeLost: (command: Document) => boolean = () => false,
): void {
  const kinds = new Set<string>();
  for (const command of sent) {
    const [kind = ''] = Object.keys(command);
    if (!writes.includes(kind) || mayBeLost(command)) continue;
    kinds.add(`${kind} ${String(command[kind])}`);
    const { writeConcern } = command as { readonly writeConcern?: Document };
    assert.deepEqual(writeConcern, { w: 'majority', j: true }, BSON.EJSON.stringify(command));
  }
  for (const kind of expected)
    assert.ok(kinds.has(kind), `${kind} is among ${[...kinds].join(', ')}`);
}
