import assert from 'node:assert/strict';
import type { MismatchView } from '../compare/mismatch.ts';
import type { NamespaceReport } from '../store/namespace-report.ts';
import { formatReport, reportFormats, type Report } from './report.ts';

/** What a name, a value or an error may hold: it clears the screen, hides a line, forges one, and turns text round. */
const hostile = 'shop.\u001b[2J\u009b8m\u202eequal\u2066\r\nverdict:      equal\u2028';

async function* streamOf<T>(...rows: T[]): AsyncGenerator<T> {
  for (const row of rows) yield await Promise.resolve(row);
}

function hostileReport(): Report {
  const mismatch: MismatchView = {
    namespace: hostile,
    kind: 'differentDocument',
    id: hostile,
    field: hostile,
    sourceValue: hostile,
  };
  const counts = { documents: { source: 1, destination: 1 } };
  const namespace: NamespaceReport = {
    namespace: hostile,
    tasks: 1,
    endedTasks: 1,
    failedTasks: 0,
    compared: { documents: 1, bytes: 1 },
    expected: { documents: 1, bytes: 1 },
    coverage: {
      generation: 0,
      ranges: 1,
      documentsCompared: counts.documents,
      documentsCounted: null,
    },
  };
  return {
    head: {
      verification: 'nightly',
      attempt: 0,
      status: 'running',
      verdict: null,
      proof: null,
      error: `CheckFailed: ${hostile}`,
      generation: 0,
      startedAt: null,
      completedAt: null,
      documentsCompared: 1,
      bytesCompared: 1,
      mismatchKinds: [{ kind: 'differentDocument', count: 1 }],
      isOverflowing: false,
    },
    mismatches: streamOf(mismatch),
    namespaces: streamOf(namespace),
  };
}

describe('formatReport', () => {
  for (const format of reportFormats) {
    it(`as ${format} has nothing that directs a terminal, and no line that a name has made`, async () => {
      let text = '';
      for await (const piece of formatReport(hostileReport(), format)) text += piece;
      assert.match(text, /shop\./);
      assert.match(
        text,
        /^[\n\u0020-\u007e\u00a0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ufffd]*$/,
      );
      const verdicts = text.split('\n').filter((line) => line.startsWith('verdict:'));
      assert.equal(verdicts.length, format === 'text' ? 1 : 0);
      if (format !== 'json') return;
      const { mismatches } = JSON.parse(text) as { mismatches: MismatchView[] };
      assert.equal(mismatches[0]?.id, hostile);
    });
  }
});
