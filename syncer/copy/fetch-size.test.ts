import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FetchSize } from './fetch-size.ts';

const mebibyte = 1024 * 1024;

describe('FetchSize', () => {
  it('asks for about 4 MiB, of documents of any size', () => {
    const averages = fc.integer({ min: 256, max: 16 * mebibyte });
    fc.assert(
      fc.property(averages, (averageBytes) => {
        const documentCount = 1_000_000;
        const size = new FetchSize({ documentCount, sizeBytes: documentCount * averageBytes });
        const bytes = size.documents * averageBytes;
        assert.ok(size.documents === 1 || bytes <= 6 * mebibyte, `${bytes}`);
        assert.ok(bytes >= 2 * mebibyte, `${bytes}`);
        assert.ok(size.expectedBytes >= Math.min(bytes / 1.5, 16 * mebibyte));
      }),
    );
  });

  it('asks for no more than 20,000 tiny documents', () => {
    const size = new FetchSize({ documentCount: 1e6, sizeBytes: 18e6 });
    assert.equal(size.documents, 20_000);
  });

  it('expects all of a small collection at once, and no more than it has', () => {
    const size = new FetchSize({ documentCount: 3_000, sizeBytes: 300_000 });
    assert.equal(size.documents, 6_000);
    assert.equal(size.expectedBytes, 300_000);
  });

  it('asks for no more than it may, of documents and of bytes, as that changes', () => {
    let most = { count: Infinity, bytes: Infinity };
    const documentCount = 1_000_000;
    const collection = { documentCount, sizeBytes: documentCount * 1_000 };
    const size = new FetchSize(collection, () => most);
    assert.equal(size.documents, Math.round((4 * mebibyte) / 1_000));
    most = { count: 7, bytes: Infinity };
    assert.equal(size.documents, 7);
    most = { count: Infinity, bytes: 50_000 };
    assert.equal(size.documents, 50);
    most = { count: Infinity, bytes: 1 };
    assert.equal(size.documents, 1, 'or nothing would ever pass');
  });

  it('learns of a collection that was empty, and has grown since', () => {
    const size = new FetchSize({ documentCount: 0, sizeBytes: 0 });
    assert.equal(size.documents, 100);
    size.fetched(100, 100 * 10_240);
    assert.equal(size.documents, 410);
    assert.equal(size.expectedBytes, 4 * mebibyte);
  });

  it('goes by all that was fetched so far', () => {
    const size = new FetchSize({ documentCount: 10, sizeBytes: 10 });
    size.fetched(300, 300 * 1_000);
    size.fetched(100, 100 * 5_000);
    assert.equal(size.documents, Math.round((4 * mebibyte) / 2_000));
  });

  it('expects another fetch as large as the largest, and no more than a server sends', () => {
    const size = new FetchSize({ documentCount: 1_000, sizeBytes: 10 * mebibyte });
    assert.equal(size.expectedBytes, 4 * mebibyte);
    size.fetched(10, 9 * mebibyte);
    size.fetched(1_000, mebibyte);
    assert.equal(size.expectedBytes, 9 * mebibyte);
    size.fetched(1, 17 * mebibyte);
    assert.equal(size.expectedBytes, 16 * mebibyte);
  });
});
