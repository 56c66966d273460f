import { obstacleOf, type Assembly } from '../store/instances.ts';

/** Which of the other instances do nothing for the sync now, so that a commit would wait for them. */
export class Attendance {
  readonly #id: string;
  readonly #now: () => number;
  /** The last heartbeat that was seen of each, and when it was new: the clocks of other machines may differ from ours. */
  readonly #seen = new Map<string, { readonly beatMs: number; readonly atMs: number }>();

  /** @param now - the monotonic clock, in milliseconds. */
  constructor(id: string, now: () => number = () => performance.now()) {
    this.#id = id;
    this.#now = now;
  }

  /** Those that are missing while changes are applied, with what is known of each; undefined if none is. To be called often. */
  missing({ sync, instances }: Assembly): string | undefined {
    const missing = sync.instances.flatMap((id) => {
      const instance = instances.get(id);
      if (id === this.#id) return [];
      const beatMs = instance?.heartbeatAt.getTime() ?? 0;
      const obstacle = obstacleOf(sync, id, instance, beatMs + this.#quietMs(id, beatMs));
      return obstacle === '' ? [] : [`${id}${obstacle}`];
    });
    const isBeforeCommit = sync.state === 'RUNNING' && sync.phase === 'changes';
    return isBeforeCommit && missing.length > 0 ? missing.join(' and ') : undefined;
  }

  #quietMs(id: string, beatMs: number): number {
    const known = this.#seen.get(id);
    if (known?.beatMs === beatMs) return this.#now() - known.atMs;
    this.#seen.set(id, { beatMs, atMs: this.#now() });
    return 0;
  }
}
