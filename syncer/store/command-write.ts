import { storedSync } from './encoding.ts';
import type { SyncRecord } from './records.ts';

/** What records that an instance has been given a command. */
export interface CommandWrite {
  /** What the record has where the instance has been given it before. */
  readonly received: Readonly<Record<string, number>>;
  /** What the record has to be like for it to be given. */
  readonly expected: Pick<SyncRecord, 'commandCount'>;
  /** By the paths of fields. */
  readonly change: Readonly<Record<string, unknown>>;
}

/**
 * The write by which an instance is given a command: of all that are sent for one command, by whichever process and however
 * often, one alone is taken.
 * @param first - the change of the sync that the command makes; undefined where another instance was given it before.
 */
export function commandWrite(
  { instances, commandCount }: Pick<SyncRecord, 'instances' | 'commandCount'>,
  instance: string,
  first: Partial<SyncRecord> | undefined,
): CommandWrite {
  const number = first ? commandCount + 1 : commandCount;
  const received = {
    commandCount: number,
    [`received.${instances.indexOf(instance)}`]: number,
  };
  return {
    received,
    expected: { commandCount },
    change: { ...(first && storedSync(first)), ...received },
  };
}
