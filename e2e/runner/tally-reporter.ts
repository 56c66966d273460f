import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';
import { skipReason } from './skip.ts';
import type { TestOutcome } from './tally.ts';

/** The length of the text that is repeated about a failure at the end. */
const maxLength = 8_000;

/** Mocha's own `spec` output, and each outcome at once in the file that the option `file` names. */
class TallyReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const { file } = options.reporterOptions as { readonly file: string };
    const write = (outcome: TestOutcome): void => {
      appendFileSync(file, `${JSON.stringify(outcome)}\n`);
    };
    runner.on('pass', (test) => {
      write({ outcome: 'passed', title: test.fullTitle() });
    });
    runner.on('fail', (test, error: unknown) => {
      write({
        outcome: 'failed',
        title: `${test.fullTitle()}: ${reasonOf(error)}`,
        details: detailsOf(error),
      });
    });
    runner.on('pending', (test) => {
      const title = test.fullTitle();
      const reason = skipReason(test);
      if (reason === undefined) {
        write({
          outcome: 'failed',
          title: `${title} (skipped without a reason: use skipBecause)`,
          details: '',
        });
      } else {
        write({ outcome: 'skipped', title, reason });
      }
    });
    runner.on('end', () => {
      write({ outcome: 'end' });
    });
  }
}

/** The beginning of what an error says, in one line. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300);
}

/** All that an error says, as far as anybody reads it, in lines that no log cuts off. */
function detailsOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const kept = text.length <= maxLength ? text : `${text.slice(0, maxLength)} …`;
  return kept
    .split('\n')
    .flatMap((line) => line.match(/.{1,200}/g) ?? [''])
    .join('\n');
}

// Mocha loads reporters with require.
export { TallyReporter as 'module.exports' };
