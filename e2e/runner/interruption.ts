/** Aborted when this process receives SIGINT (Ctrl-C) or SIGTERM. From then on the process ends only by itself. */
export function onInterruption(): AbortSignal {
  const interruption = new AbortController();
  const interrupt = (signal: NodeJS.Signals): void => {
    interruption.abort(signal);
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  return interruption.signal;
}
