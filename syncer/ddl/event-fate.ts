/** What becomes of a change event that is not of a document: it is applied, left alone, or stops a sync that it is about. */
export type EventFate = 'applied' | 'passedOver' | 'refused';

const fates: ReadonlyMap<string, EventFate> = new Map([
  ['create', 'applied'],
  ['createIndexes', 'applied'],
  ['drop', 'applied'],
  ['dropDatabase', 'applied'],
  ['dropIndexes', 'applied'],
  ['modify', 'applied'],
  ['rename', 'applied'],
  ['shardCollection', 'applied'],
  // Of no namespace: behind a feature flag of servers from 7.1 on, one for each transaction.
  ['endOfTransaction', 'passedOver'],
  // Told of by servers newer than 6.0; the keys are settled at the commit (settleShardKeys).
  ['refineCollectionShardKey', 'passedOver'],
]);

/** The fate of an event, by its `operationType`. What is not known is refused: it may change what is synced. */
export function fateOf(operation: string): EventFate {
  return fates.get(operation) ?? 'refused';
}
