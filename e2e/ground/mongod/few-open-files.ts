/**
 * Arguments for a mongod that has many collections: it has a file for each of them and for each index, and by itself closes
 * those that nobody uses after ten minutes, and what was changed not before it has been written to disk. With these it holds
 * some thousands open where it would hold 30,000, and does not end where a process may have 20,000.
 */
export const fewOpenFiles: readonly string[] = [
  '--wiredTigerEngineConfigString',
  'file_manager=(close_handle_minimum=1000,close_idle_time=10,close_scan_interval=5)',
  ...['--syncdelay', '15'],
];
