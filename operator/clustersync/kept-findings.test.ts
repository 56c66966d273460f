import assert from 'node:assert/strict';
import { readFindings } from '../../sync-api/check-answer.ts';
import { bytesOf } from '../operand/kept-progress.ts';
import { keptFindings } from './kept-findings.ts';

function reported(parts: object, count = 1): ReturnType<typeof readFindings> {
  const finding = {
    severity: 'advice',
    name: 'UsersNotCopied',
    message: 'm',
    action: 'a',
    ...parts,
  };
  return readFindings(
    Array.from({ length: count }, (_, n) => ({ ...finding, message: `${n}${finding.message}` })),
  );
}

describe('keptFindings', () => {
  it('has the words of the status', () => {
    const namespaces = ['shop.items'];
    const given = reported({ severity: 'blocker', side: 'source', namespaces });
    assert.deepEqual(keptFindings(given), {
      findings: [
        {
          ...{ severity: 'Blocker', name: 'UsersNotCopied', side: 'Source', namespaces },
          ...{ message: '0m', action: 'a' },
        },
      ],
      omitted: 0,
    });
    const [finding] = keptFindings(reported({ action: '' })).findings;
    assert.deepEqual(Object.keys(finding ?? {}), ['severity', 'name', 'message']);
  });

  it('keeps the 100 most important, and says how many more there are', () => {
    const given = [
      ...reported({}, 150),
      ...reported({ severity: 'warning' }, 30),
      ...reported({ severity: 'blocker' }, 20),
    ];
    const { findings, omitted } = keptFindings(given);
    assert.equal(omitted, 100);
    const severities = findings.map(({ severity }) => severity);
    assert.deepEqual(
      severities,
      ['Blocker', 'Warning', 'Advice'].flatMap((each, index) =>
        Array.from({ length: [20, 30, 50][index] ?? 0 }, () => each),
      ),
    );
  });

  it('keeps 20 namespaces of a finding, and says how many more there are', () => {
    const namespaces = Array.from({ length: 100 }, (_, n) => `shop.${n}`);
    const [finding] = keptFindings(reported({ namespaces })).findings;
    assert.deepEqual(finding?.namespaces, namespaces.slice(0, 20));
    assert.equal(finding.omittedNamespaces, 80);
  });

  // Each is stored in six bytes.
  for (const [what, letter] of [
    ['letters', 'x'],
    ['brackets', '<'],
    ['separators', '\u2028'],
    ['pairs', '😀'],
  ] as const)
    it(`never has more than 128 KiB as the API server stores it: ${what}`, () => {
      const long = letter.repeat(4_000);
      const namespaces = Array.from({ length: 30 }, () => long);
      const all = {
        severity: 'blocker',
        name: `A${long}`,
        message: long,
        action: long,
        namespaces,
      };
      const { findings, omitted } = keptFindings(reported(all, 120));
      assert.ok(findings.length > 0);
      assert.equal(findings.length + omitted, 120);
      assert.ok(bytesOf(findings) <= 128 * 1024);
      for (const { name, message, action = '' } of findings) {
        assert.ok(name.length <= 64 && message.length <= 2048 && action.length <= 2048);
        assert.ok(message.isWellFormed());
      }
    });

  it('keeps what controls a terminal, and connection strings, out of every text', () => {
    const evil = 'a\u001b[2Jb\u202ec\r\nd mongodb://admin:secret@db/';
    const texts = { name: evil, message: evil, action: evil, namespaces: [evil] };
    const text = JSON.stringify(keptFindings(reported({ ...texts, severity: 'blocker' })));
    assert.doesNotMatch(text, /secret|\\u001b|\u202e|\\r|\\n/);
    assert.equal(text.split('<credentials>').length, 5);
  });

  it('leaves no half of a password where it cuts a text', () => {
    const message = `${'x'.repeat(2020)} mongodb://admin:${'secret'.repeat(20)}@db/`;
    const [finding] = keptFindings(reported({ message })).findings;
    assert.doesNotMatch(finding?.message ?? '', /secret/);
  });
});
