import { h, type ComponentChild } from 'preact';

/**
 * A text that a tenant, a pod or a database has written, for itself: letters that are read from right to left would take digits and
 * signs beside them into their order.
 */
export function foreignText(text: string): ComponentChild {
  return h('bdi', null, text);
}
