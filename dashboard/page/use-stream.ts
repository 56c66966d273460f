import { useEffect, useState } from 'preact/hooks';
import type { ServerEvent } from '../view/event-lines.ts';
import { follow, type Connection } from './follow.ts';

/**
 * The value built from the events of a path, and the state of the connection. Sends no requests while the page is hidden.
 * @param reduce - returns the next value; must be the same function each time.
 */
export function useStream<T>(
  path: string,
  token: string | undefined,
  reduce: (value: T | undefined, event: ServerEvent) => T | undefined,
): { readonly value: T | undefined; readonly connection: Connection } {
  const [state, setState] = useState<{ readonly path: string; readonly value: T | undefined }>();
  const [connection, setConnection] = useState<Connection>('connecting');
  const isVisible = useVisibility();
  useEffect(() => {
    if (!isVisible) return;
    // What was shown before the page was hidden is not live yet.
    setConnection('connecting');
    const stop = new AbortController();
    const onEvent = (event: ServerEvent): void => {
      setState((former) => {
        return { path, value: reduce(former?.path === path ? former.value : undefined, event) };
      });
    };
    const onConnection = (next: Connection): void => {
      setConnection(next);
      // It is gone: what was last known of it is no longer so.
      if (next === 'missing') setState(undefined);
    };
    void follow({ path, token, onEvent, onConnection }, stop.signal);
    return () => {
      stop.abort();
    };
  }, [path, token, reduce, isVisible]);
  // The value of another path is not shown, not even for a moment.
  return { value: state?.path === path ? state.value : undefined, connection };
}

function useVisibility(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const note = (): void => {
      setVisible(document.visibilityState === 'visible');
    };
    document.addEventListener('visibilitychange', note);
    return () => {
      document.removeEventListener('visibilitychange', note);
    };
  }, []);
  return isVisible;
}
