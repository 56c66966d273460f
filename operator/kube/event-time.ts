import { textOf } from '../../service/json-fields.ts';
import type { Event } from './builtin-resources.ts';

/**
 * When something that an event tells was seen last, as the API server has it; empty if unknown. An event of the older API has its
 * time elsewhere, or none: its `eventTime` is null, whatever the type says.
 */
export function lastSeen({ series, eventTime, deprecatedLastTimestamp, metadata }: Event): string {
  const { creationTimestamp } = metadata;
  return firstText(
    ...[series?.lastObservedTime, eventTime, deprecatedLastTimestamp, creationTimestamp],
  );
}

/** When it was seen first and last, in milliseconds since 1970; NaN if unknown. */
export function eventTimeMs(event: Event): { readonly firstMs: number; readonly lastMs: number } {
  const { eventTime, deprecatedFirstTimestamp, metadata } = event;
  const firstSeen = firstText(eventTime, deprecatedFirstTimestamp, metadata.creationTimestamp);
  return { firstMs: Date.parse(firstSeen), lastMs: Date.parse(lastSeen(event)) };
}

function firstText(...values: readonly unknown[]): string {
  return values.map(textOf).find((text) => text !== undefined) ?? '';
}
