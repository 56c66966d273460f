import { startCopyGround, type CopyGround } from '../copy/measure.ts';
import { DelayLine } from './delay-line.ts';

export type Side = 'source' | 'destination';

/** Two replica sets, each behind a link whose delay can be set. Only syncers notice the links. */
export interface FarGround extends CopyGround, AsyncDisposable {
  readonly links: Readonly<Record<Side, DelayLine>>;
}

/** Starts the servers, `members` on each side. */
export async function startFarGround(members: 1 | 3): Promise<FarGround> {
  await using stack = new AsyncDisposableStack();
  const links = {
    source: stack.use(DelayLine.start()),
    destination: stack.use(DelayLine.start()),
  };
  const frontOf =
    (side: Side) =>
    async (port: number): Promise<string> =>
      `127.0.0.1:${await links[side].open(port)}`;
  const ground = stack.use(await startCopyGround({ members, frontOf }));
  const all = stack.move();
  return {
    ...ground,
    links,
    [Symbol.asyncDispose]: async () => {
      await all.disposeAsync();
    },
  };
}
