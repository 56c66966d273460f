import assert from 'node:assert/strict';
import { documentInterleavings, type Interleaving } from './document-interleavings.ts';

const textOf = ({ existsBefore, steps }: Interleaving): string =>
  JSON.stringify([existsBefore, ...steps]);

describe('the interleavings of one document', () => {
  it('are all within the bounds, and none comes twice', () => {
    const all = documentInterleavings({ steps: 8, writes: 4, copies: 2, kills: 2 });
    assert.equal(all.length, 27_914);
    assert.equal(new Set(all.map(textOf)).size, all.length);
  });

  it('are these, in three steps', () => {
    const found = documentInterleavings({ steps: 3, writes: 1, copies: 1, kills: 0 });
    const apply = { kind: 'apply', events: 1 } as const;
    const copy = { kind: 'copy' } as const;
    const expected = (['update', 'replace', 'delete', 'insert'] as const).flatMap((write) => {
      const written = { kind: 'write', write } as const;
      const existsBefore = write !== 'insert';
      return [
        { existsBefore, steps: [written, copy, apply] },
        { existsBefore, steps: [copy, written, apply] },
      ];
    });
    assert.deepEqual(new Set(found.map(textOf)), new Set(expected.map(textOf)));
  });

  it('apply each event in its order, and again only what a kill has taken back', () => {
    for (const { steps } of documentInterleavings({ steps: 7, writes: 3, copies: 1, kills: 2 })) {
      let [written, applied] = [0, 0];
      for (const step of steps) {
        if (step.kind === 'write') written++;
        if (step.kind === 'apply') applied += step.events;
        if (step.kind === 'kill') applied -= step.forgottenEvents;
        assert.ok(0 <= applied && applied <= written);
      }
      assert.equal(applied, written);
    }
  });
});
