import { SyncError } from '../../service/errors.ts';
import type { ErrorName } from '../../service/error-table.ts';

/** Makes sure that the product has refused something by this name. Throws any other error: it is a fault of the product or of the model. */
export function requireRefusal(error: unknown, name: ErrorName): void {
  if (!(error instanceof SyncError && error.name === name)) throw error;
}
