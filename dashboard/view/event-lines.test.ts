import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EventLines } from './event-lines.ts';

describe('EventLines', () => {
  it('reads events, and leaves out what only says that the connection lives', () => {
    const lines = new EventLines();
    assert.deepEqual(lines.read(': alive\n\nevent: a\ndata: {"x":"a: b"}\n\nevent: b\nda'), [
      { name: 'a', data: '{"x":"a: b"}' },
    ]);
    assert.deepEqual(lines.read('ta: 2\n\n'), [{ name: 'b', data: '2' }]);
  });

  it('reads the same, whatever pieces the text comes in', () => {
    const event = fc.record(
      {
        name: fc.constantFrom('snapshot', 'changes'),
        data: fc.json().map((text) => JSON.stringify(JSON.parse(text))),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(fc.array(event), fc.integer({ min: 1, max: 40 }), (events, size) => {
        let text = events.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('');
        const lines = new EventLines();
        const read = [];
        while (text !== '') {
          read.push(...lines.read(text.slice(0, size)));
          text = text.slice(size);
        }
        assert.deepEqual(read, events);
      }),
    );
  });
});
