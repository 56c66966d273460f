/** Counters of one pass over the data. Every task is in one of added, processing, failed and completed. */
export interface GenerationStatus {
  addedTasks: number;
  processingTasks: number;
  /** Tasks that found a difference of any kind. */
  failedTasks: number;
  /** Tasks that found none. */
  completedTasks: number;
  /** Those of the failed tasks that found a difference in existence, kind, options, indexes or placement. */
  metadataMismatchTasks: number;
}

export function emptyStatus(): GenerationStatus {
  return {
    addedTasks: 0,
    processingTasks: 0,
    failedTasks: 0,
    completedTasks: 0,
    metadataMismatchTasks: 0,
  };
}

export function totalTasks(status: GenerationStatus): number {
  return status.addedTasks + status.processingTasks + status.failedTasks + status.completedTasks;
}
