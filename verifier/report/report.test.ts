import assert from 'node:assert/strict';
import type { MismatchView } from '../compare/mismatch.ts';
import type { NamespaceReport } from '../store/summary.ts';
import {
  formatJunit,
  formatReport,
  reportFormats,
  type Report,
  type ReportHead,
} from './report.ts';

/** What a name, a value or an error may contain: it clears the screen, hides a line, forges one, and reverses text. */
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
      documentsHashed: 0,
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

const head: ReportHead = {
  verification: 'nightly & "all"',
  attempt: 0,
  status: 'complete',
  verdict: 'different',
  proof: null,
  error: null,
  generation: 1,
  startedAt: null,
  completedAt: null,
  documentsCompared: 2,
  bytesCompared: 2,
  mismatchKinds: [],
  isOverflowing: false,
};

const nothing = { documents: 0, bytes: 0 };

describe('formatReport, of a verdict', () => {
  for (const [documentsHashed, said] of [
    [0, ''],
    [4, ' (4 on each side only by hash)'],
  ] as const)
    it(`says that ${documentsHashed} of its documents were compared only by hash`, async () => {
      const counts = {
        documentsCompared: { source: 5, destination: 6 },
        documentsHashed,
        documentsCounted: { source: 5, destination: 5 },
      };
      const coverage = { generation: 0, ranges: 2, ...counts };
      const [tasks, endedTasks, failedTasks] = [1, 1, 0];
      const report = {
        head: { ...head, verdict: 'equal', proof: { collections: 1, ranges: 2, ...counts } },
        mismatches: streamOf<MismatchView>(),
        namespaces: streamOf<NamespaceReport>({
          ...{ namespace: 'a.b', tasks, endedTasks, failedTasks, coverage },
          ...{ compared: nothing, expected: nothing },
        }),
      } as const;
      let text = '';
      for await (const piece of formatReport(report, 'text')) text += piece;
      assert.ok(
        text.includes(
          `counted:      5 documents on the source and 5 on the destination${said}, in 1 collections read in 2 ranges\n`,
        ),
        text,
      );
      assert.ok(
        text.includes(
          `a.b: compared 5 documents of the source and 6 of the destination${said}, counted 5 and 5\n`,
        ),
        text,
      );
    });
});

async function* namespacesOf(...names: string[]): AsyncGenerator<NamespaceReport> {
  for (const namespace of names) {
    const counts = { tasks: 1, endedTasks: 1, failedTasks: 0, coverage: null };
    yield await Promise.resolve({ namespace, ...counts, compared: nothing, expected: nothing });
  }
}

async function* mismatchesOf(...all: MismatchView[]): AsyncGenerator<MismatchView> {
  for (const mismatch of all) yield await Promise.resolve(mismatch);
}

async function written(
  mismatches: readonly MismatchView[],
  namespaces: readonly string[],
  verdict: ReportHead['verdict'] = 'different',
): Promise<string> {
  const report = {
    head: { ...head, verdict },
    mismatches: mismatchesOf(...mismatches),
    namespaces: namespacesOf(...namespaces),
  };
  let text = '';
  for await (const piece of formatJunit(report)) text += piece;
  return text;
}

describe('formatJunit', () => {
  it('has a test case for the verdict and for each namespace, also for those that only differ', async () => {
    const missing = (namespace: string, id: string): MismatchView => {
      return { namespace, kind: 'missingDocument', id };
    };
    const text = await written(
      [missing('a.a', '1'), missing('a.c', '1'), missing('a.c', '2'), missing('b.z', '3')],
      ['a.b', 'a.c', 'a.d'],
    );
    assert.equal(
      text,
      `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="clustersync nightly &amp; &quot;all&quot;">
  <testcase classname="nightly &amp; &quot;all&quot;" name="verdict">
    <failure message="different">different</failure>
  </testcase>
  <testcase classname="nightly &amp; &quot;all&quot;" name="a.a">
    <failure message="a.a missingDocument _id 1">a.a missingDocument _id 1</failure>
  </testcase>
  <testcase classname="nightly &amp; &quot;all&quot;" name="a.b"/>
  <testcase classname="nightly &amp; &quot;all&quot;" name="a.c">
    <failure message="a.c missingDocument _id 1">a.c missingDocument _id 1
a.c missingDocument _id 2</failure>
  </testcase>
  <testcase classname="nightly &amp; &quot;all&quot;" name="a.d"/>
  <testcase classname="nightly &amp; &quot;all&quot;" name="b.z">
    <failure message="b.z missingDocument _id 3">b.z missingDocument _id 3</failure>
  </testcase>
</testsuite>
`,
    );
  });

  it('has no failure where both sides are equal', async () => {
    assert.doesNotMatch(await written([], ['a.b'], 'equal'), /failure/);
  });

  it('says in XML whatever a name or a value holds', async () => {
    const field = '<b>&"\'\u0000\u0008\u001f\ud800\ufffe\ttab]]>\u{1f600}';
    const text = await written([{ namespace: 'a.<&>', kind: 'differentDocument', field }], []);
    assert.match(text, /name="a\.&lt;&amp;&gt;"/);
    assert.match(text, /at &lt;b&gt;&amp;&quot;'\ufffd\ttab\]\]&gt;\u{1f600}/u);
    // Nothing that XML 1.0 cannot express.
    assert.match(text, /^[\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u);
    const values = text.replaceAll(/<\/?[a-z]+(?: [a-z]+="[^"<&]*(?:&[a-z]+;[^"<&]*)*")*\/?>/g, '');
    const rest = values.replace('<?xml version="1.0" encoding="UTF-8"?>', '');
    assert.doesNotMatch(rest.replaceAll(/&(?:amp|lt|gt|quot);/g, ''), /[<&]/);
  });

  it('tells a thousand differences of a namespace, and how many more there are', async () => {
    const many = Array.from({ length: 1002 }, (_, id): MismatchView => {
      return { namespace: 'a.b', kind: 'extraDocument', id: String(id) };
    });
    const text = await written(many, ['a.b']);
    assert.match(text, /extraDocument _id 999\nand 2 more<\/failure>/);
  });
});
