/** Is aborted when this process is told to end, by SIGINT (Ctrl-C) or SIGTERM. From then on it ends only by itself. */
export function onInterruption(): AbortSignal {
  const interruption = new AbortController();
  const interrupt = (signal: NodeJS.Signals): void => {
    interruption.abort(signal);
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  return interruption.signal;
}
