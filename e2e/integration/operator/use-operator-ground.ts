import { OperatorGround, RunningOperator } from './operator-ground.ts';

/** Starts a ground, and an operator on it, before the tests of a suite, and stops both after them. */
export function useOperatorGround(onReady: (ground: OperatorGround) => void): void {
  const running = new AsyncDisposableStack();
  before(async () => {
    const ground = running.use(await OperatorGround.start());
    running.use(await RunningOperator.start(ground.kubeconfig));
    onReady(ground);
  });
  after(async () => {
    await running.disposeAsync();
  });
}
