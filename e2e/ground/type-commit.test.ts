import assert from 'node:assert/strict';
import { typeCommit } from './type-commit.ts';

const picture = (readiness: string): string =>
  `\r\u001b[2K\u001b[1A\u001b[2K\u001b[2mcommit   \u001b[22m\u001b[32m${readiness}\u001b[39m\n`;
const question = '\u001b[1mType commit and press Enter to commit:\u001b[22m ';

describe('typeCommit', () => {
  it('types when it is asked and the commit is ready, and again where that was over just then', async () => {
    let shown = '';
    let hasEnded = false;
    /** What is shown each time that somebody looks, after what was typed before. */
    const scenes = [
      picture('ready'),
      picture('not yet: the lag is unknown') + question,
      picture('ready') + question,
    ];
    const typedAt: string[] = [];
    const terminal = {
      output: async () => {
        shown += scenes.shift() ?? '';
        return await Promise.resolve(shown);
      },
      get hasEnded() {
        return hasEnded;
      },
      type: (keys: string) => {
        assert.equal(keys, 'commit\r');
        typedAt.push(shown);
        if (typedAt.length === 2) hasEnded = true;
        else
          scenes.push(
            'not yet, nothing done: the lag is unknown\n',
            picture('not yet: the lag is unknown') + question,
            picture('ready') + question,
          );
      },
    };
    await typeCommit(terminal);
    assert.equal(typedAt.length, 2);
    for (const typed of typedAt) assert.ok(typed.endsWith(picture('ready') + question));
  });

  it('types nothing where the command ends without a question', async () => {
    await typeCommit({
      output: async () => await Promise.resolve('it has failed'),
      hasEnded: true,
      type: () => assert.fail('nobody has asked'),
    });
  });
});
