import assert from 'node:assert/strict';
import { drawingOf, nearest, roundUp, type ChartPoint } from './chart.ts';

describe('drawingOf', () => {
  it('draws nothing where there is no time between the points', () => {
    assert.equal(drawingOf([]), undefined);
    assert.equal(drawingOf([[5, 1]]), undefined);
  });

  it('fills the square from the first time to the last, from nothing to the largest value', () => {
    assert.deepEqual(
      drawingOf([
        [10, 0],
        [15, 4],
        [20, 2],
      ]),
      {
        line: 'M0 1L0.5 0L1 0.5',
        area: 'M0 1L0 1L0.5 0L1 0.5L1 1Z',
        from: 10,
        to: 20,
        top: 4,
      },
    );
  });

  it('leaves a gap where nothing is known, and room above small values', () => {
    const drawing = drawingOf(
      [
        [0, 1],
        [1, 1],
        [2, null],
        [3, 1],
        [4, 1],
      ],
      2,
    );
    assert.equal(drawing?.line, 'M0 0.5L0.25 0.5M0.75 0.5L1 0.5');
    assert.equal(drawing.area, 'M0 1L0 0.5L0.25 0.5L0.25 1ZM0.75 1L0.75 0.5L1 0.5L1 1Z');
  });
});

describe('roundUp', () => {
  it('is one that can be read easily, and so can its half', () => {
    assert.deepEqual(
      [0, 0.3, 1, 3, 7, 11, 200, 201].map((value) => roundUp(value)),
      [2, 2, 2, 4, 10, 20, 200, 400],
    );
  });
});

describe('nearest', () => {
  it('is the point whose time is closest', () => {
    const points = [
      [0, 1],
      [10, 2],
      [20, null],
    ] as const;
    assert.deepEqual(
      [-5, 4, 6, 16, 99].map((at) => nearest(points, at)?.[0]),
      [0, 0, 10, 20, 20],
    );
    assert.equal(nearest<ChartPoint>([], 1), undefined);
  });
});
