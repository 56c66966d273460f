import assert from 'node:assert/strict';
import { FetchSize } from './read-documents.ts';

describe('FetchSize', () => {
  it('begins as it is told, and asks for one and a half megabytes when it knows the documents', () => {
    const size = new FetchSize(7);
    assert.equal(size.documents, 7);
    size.add({ count: 7, bytes: 7 * 1024 });
    assert.equal(size.documents, 1536);
    size.add({ count: 1, bytes: 1 });
    assert.ok(size.documents > 1536);
  });

  it('asks for one document at least, and not for more than 5000', () => {
    const large = new FetchSize();
    large.add({ count: 1, bytes: 16 * 1024 * 1024 });
    assert.equal(large.documents, 1);
    const { inStep } = large;
    inStep.add({ count: 1, bytes: 1 });
    assert.equal(inStep.documents, 1);
    large.add({ count: 31, bytes: 0 });
    assert.equal(inStep.documents, 3);
    const small = new FetchSize();
    small.add({ count: 1000, bytes: 30_000 });
    assert.equal(small.documents, 5000);
  });
});
