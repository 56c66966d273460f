import assert from 'node:assert/strict';
import { lagDrawingOf, lagLabel, lagNote, type LagPoint, situationOf } from './lag-and-oplog.ts';
import { rowOf } from './testing/rows.ts';
import { axisTime } from './times.ts';

const hour = 3_600;

/** Nearly caught up, with an oplog for 40 hours. */
const calm: readonly LagPoint[] = [
  [0, 0, 40 * hour],
  [10, 2, 40 * hour],
];

/** The lines meet in the middle, and again at the end. */
const crossing: readonly LagPoint[] = [
  [0, 10, 1_000],
  [10, 1_000, 10],
  [20, 1_000, 10],
  [30, 10, 1_000],
];

describe('the drawing of lag and oplog', () => {
  it('is nothing without time between the points, or without anything known', () => {
    assert.equal(lagDrawingOf([]), undefined);
    assert.equal(lagDrawingOf([[5, 1, 1]]), undefined);
    assert.equal(
      lagDrawingOf([
        [0, null, null],
        [9, null, null],
      ]),
      undefined,
    );
  });

  it('has both lines on one axis, and a place for a lag of nothing', () => {
    const drawing = lagDrawingOf(calm);
    assert.ok(drawing);
    const { heightOf, marks } = drawing.axis;
    assert.equal(marks.at(-1), 30 * 24 * hour);
    const y = (seconds: number): number => Math.round((1 - heightOf(seconds)) * 10_000) / 10_000;
    assert.equal(drawing.lag.line, `M0 1L1 ${y(2)}`);
    assert.equal(drawing.oplog.line, `M0 ${y(40 * hour)}L1 ${y(40 * hour)}`);
    assert.equal(drawing.crossed, '');
  });

  it('has the one line that is known', () => {
    const onlyLag = lagDrawingOf([
      [0, 60, null],
      [9, 0, null],
    ]);
    assert.equal(onlyLag?.lag.line, 'M0 0L1 1');
    assert.deepEqual(onlyLag.oplog, { line: '', area: '' });
    // In a pause there is no lag.
    const onlyOplog = lagDrawingOf([
      [0, null, 60],
      [9, null, 0],
    ]);
    assert.equal(onlyOplog?.oplog.line, 'M0 0L1 1');
    assert.equal(onlyOplog.lag.line, '');
  });

  it('marks where the lag is higher, from where the lines meet', () => {
    assert.equal(lagDrawingOf(crossing)?.crossed, 'M0.1667 0H0.8333V1H0.1667Z');
    assert.equal(lagDrawingOf(crossing.slice(0, 2))?.crossed, 'M0.5 0H1V1H0.5Z');
    assert.equal(lagDrawingOf(crossing.slice(1, 3))?.crossed, 'M0 0H1V1H0Z');
  });

  it('does not say what happened while one of them was unknown', () => {
    const points: readonly LagPoint[] = [
      [0, 10, 1_000],
      [10, null, 10],
      [20, 1_000, null],
      [30, 10, 1_000],
    ];
    assert.equal(lagDrawingOf(points)?.crossed, '');
  });
});

describe('the note of lag and oplog', () => {
  const usual = {
    ...{ phase: 'ChangeApplication', isCopying: false, copySecondsLeft: undefined },
    ...{ lagSeconds: 2, oplogSeconds: 40 * hour },
  };
  const copying = { phase: 'InitialCopy', isCopying: true, lagSeconds: hour };
  const note = (
    different: Partial<Parameters<typeof lagNote>[0]>,
    points = calm,
  ): readonly [string, string | undefined] => {
    const { text, page } = lagNote({ ...usual, ...different }, points);
    return [text, page];
  };
  const atNothing = 'If the oplog lasts for 0 s, the sync has lost its position.';

  it('says when the lines would cross', () => {
    assert.deepEqual(note({}), [
      `If no more changes were applied, the lines would cross in about 19 h 59 min. ${atNothing}`,
      undefined,
    ]);
    assert.deepEqual(note({ ...copying, oplogSeconds: 3 * hour, copySecondsLeft: hour }), [
      `No change is applied during the copy: the lines cross in about 1 h, unless it ends before. ${atNothing}`,
      undefined,
    ]);
    assert.deepEqual(note({ lagSeconds: null, phase: 'Paused' }), [atNothing, undefined]);
  });

  it('leads to what to do when the lines have crossed, or will before the copy ends', () => {
    const enlarge = 'runbooks/oplog-window';
    assert.deepEqual(note({ lagSeconds: 90, oplogSeconds: 90 }), [
      `The lag is higher than what is left of the oplog: enlarge it now. ${atNothing}`,
      enlarge,
    ]);
    assert.deepEqual(note({ ...copying, oplogSeconds: 3 * hour, copySecondsLeft: 4 * hour }), [
      `The copy takes another 4 h at this rate, longer than the oplog lasts: enlarge it now. ${atNothing}`,
      enlarge,
    ]);
    const [, page] = note({ oplogSeconds: 0 });
    assert.equal(page, 'runbooks/oplog-rolled-over');
  });

  it('leads to what to do while little is left, also of a sync that does not run', () => {
    const short = `Less than an hour is left of the oplog, or less than twice the lag: enlarge it, and let the sync continue. ${atNothing}`;
    for (const little of [
      { lagSeconds: null, phase: 'Paused', oplogSeconds: 300 },
      { lagSeconds: 10, oplogSeconds: 3_599 },
      { ...copying, oplogSeconds: 2 * hour - 1, copySecondsLeft: 60 },
    ])
      assert.deepEqual(note(little), [short, 'runbooks/oplog-window']);
    assert.equal(note({ lagSeconds: 10, oplogSeconds: 3_600 })[1], undefined);
  });

  it('says why there is only a lag', () => {
    const lagOnly: readonly LagPoint[] = [[0, 2, null]];
    const texts = [
      note({ oplogSeconds: null }, lagOnly),
      note({ oplogSeconds: null }),
      note({ oplogSeconds: null, phase: 'Committed' }),
    ].map(([text]) => text);
    assert.match(texts[0] ?? '', /^Only the lag: .* not reported\. If the source is sharded/);
    assert.equal(texts[1], 'How long the oplog lasts is not known now.');
    assert.match(texts[2] ?? '', /^The sync is over/);
  });
});

describe('lag and oplog in words', () => {
  it('have what is seen: now, the extremes, and the crossing', () => {
    assert.equal(
      lagLabel({ lagSeconds: 1, oplogSeconds: 40 * hour }, calm),
      'Lag and oplog in the last 10 s: lag 1 s now, at most 2 s; oplog lasts 1 d 16 h now, at least 1 d 16 h',
    );
    assert.equal(
      lagLabel({ lagSeconds: 10, oplogSeconds: 1_000 }, crossing),
      `Lag and oplog in the last 30 s: lag 10 s now, at most 16 min 40 s; oplog lasts 16 min 40 s now, at least 10 s; the lines crossed at ${axisTime(10, 30)}`,
    );
  });

  it('say what is not known', () => {
    const points: readonly LagPoint[] = [
      [0, 3, null],
      [60, null, null],
    ];
    assert.equal(
      lagLabel({ lagSeconds: null, oplogSeconds: null }, points),
      'Lag and oplog in the last 1 min: lag not known now, at most 3 s; how long the oplog lasts is not known',
    );
    const paused: readonly LagPoint[] = [
      [0, null, 60],
      [60, null, 30],
    ];
    assert.equal(
      lagLabel({ lagSeconds: null, oplogSeconds: 30 }, paused),
      'Lag and oplog in the last 1 min: the lag is not known; oplog lasts 30 s now, at least 30 s',
    );
  });
});

describe('the situation of a sync', () => {
  const copied = [
    [0, 0, 9, null, 900],
    [60, 5_000, 9, null, 900],
    [180, 41_000, 9, null, 900],
    [181, 41_000, 9, null, 900],
  ] as const;
  const row = { ...rowOf('shop/orders', { phase: 'InitialCopy', percent: 40 }) };

  it('has the rest of a copy at the rate of its last minutes', () => {
    const sizes = { totalBytes: 77_000, copiedBytes: 41_000, bytesPerSecond: 1e9 };
    const { isCopying, copySecondsLeft } = situationOf({ ...row, ...sizes }, copied);
    assert.deepEqual([isCopying, copySecondsLeft], [true, 121]);
    assert.equal(situationOf({ ...row, ...sizes }, copied.slice(0, 2)).copySecondsLeft, undefined);
  });

  it('is not that of a copy where nobody says how much of it is done', () => {
    assert.equal(situationOf({ ...row, percent: null }, copied).isCopying, false);
  });
});
