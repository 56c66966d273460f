import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { CliProcess } from '../../ground/cli-process.ts';
import { ReflowingTerminal } from '../../ground/reflowing-terminal.ts';
import { until } from '../../ground/until.ts';

const program = fileURLToPath(new URL('asking-screen.ts', import.meta.url));

/** The first word of each line. */
function beginnings(lines: readonly string[]): string[] {
  return lines.filter((line) => line !== '').map((line) => line.split(' ', 1)[0] ?? '');
}

describe('the picture of a command, at a terminal', () => {
  it('is drawn again where the terminal is resized, and leaves nothing of the last one', async () => {
    // By the path of a file the guard of the folder knows the program.
    const files = { own: '' };
    await using cli = await CliProcess.start(['{own}'], { program, files, hasTerminal: true });
    await cli.untilSays(/type commit:/);
    const terminal = new ReflowingTerminal(100);
    terminal.write(await cli.output());
    const pictureOf = ['copy', 'changes', 'warning', 'Stop'];
    assert.deepEqual(beginnings(terminal.lines), ['[', '[', ...pictureOf]);
    for (const columns of [40, 20, 120]) {
      const { length } = await cli.output();
      cli.resize({ columns, rows: 30 });
      terminal.resize(columns);
      // A picture is written in one piece, which ends with the question.
      await until(`it draws for ${columns} columns`, async () =>
        /Stop [^\n]*$/.test((await cli.output()).slice(length)),
      );
      terminal.write((await cli.output()).slice(length));
      const { lines } = terminal;
      assert.deepEqual(beginnings(lines), ['[', '[', ...pictureOf], lines.join('\n'));
      // The steps are wrapped, the picture is cut.
      for (const line of lines.filter((one) => !one.startsWith('[')))
        assert.ok(line.length < columns, line);
    }
    cli.type('commit\r');
    assert.equal((await cli.end()).exitCode, 0);
  });
});
