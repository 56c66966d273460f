import { h, type ComponentChild } from 'preact';

/**
 * Isolates a text written by a tenant, a pod or a database: right-to-left letters would reorder adjacent digits and
 * signs.
 */
export function foreignText(text: string): ComponentChild {
  return h('bdi', null, text);
}
