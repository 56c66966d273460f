import assert from 'node:assert/strict';
import type { CheckFinding } from '../../sync-api/json.ts';
import { checkText } from './findings-text.ts';

const finding = (severity: CheckFinding['severity'], name: string): CheckFinding => ({
  severity,
  name,
  side: 'source',
  message: `what ${name} is`,
  action: `Do about ${name}.`,
});

describe('checkText', () => {
  it('groups the findings, the most important first, each with what to do', () => {
    const { side: _, ...both } = finding('blocker', 'A');
    const findings = [
      finding('advice', 'C'),
      finding('warning', 'B'),
      both,
      finding('blocker', 'D'),
    ];
    assert.equal(
      checkText(findings),
      `This migration cannot start; 2 blockers, 1 warning, 1 piece of advice.

Blockers:
  A: what A is
    Do about A.
  D (source): what D is
    Do about D.

Warnings:
  B (source): what B is
    Do about B.

Advice:
  C (source): what C is
    Do about C.
`,
    );
  });

  it('says that a migration can start', () => {
    assert.equal(checkText([]), 'This migration can start; nothing was found.\n');
    assert.match(
      checkText([finding('advice', 'C')]),
      /^This migration can start; 1 piece of advice\.\n\nAdvice:\n/,
    );
  });

  it('lets no name of a collection direct the terminal', () => {
    const message = 'the collection \u001b[2Jx';
    assert.ok(!checkText([{ ...finding('advice', 'C'), message }]).includes('\u001b'));
  });
});
