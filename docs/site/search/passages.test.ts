import assert from 'node:assert/strict';
import { readPage } from '../markdown.ts';
import { passagesOf } from './passages.ts';

const page = { path: 'docs/page.html', title: 'Page', isListed: true };

function textsOf(markdown: string): [headings: string, anchor: string, text: string][] {
  return passagesOf(page, readPage(markdown)).map(({ headings, anchor, text }) => [
    headings.join(' › '),
    anchor,
    text,
  ]);
}

describe('passagesOf', () => {
  it('goes from heading to heading, and knows what each stands below', () => {
    const markdown = '# Page\n\nA.\n\n## One\n\nB.\n\n### Two\n\nC.\n\n## Three\n\n### Two\n\nD.\n';
    assert.deepEqual(textsOf(markdown), [
      ['', '', 'A.'],
      ['One', 'one', 'B.'],
      ['One › Two', 'two', 'C.'],
      ['Three', 'three', ''],
      ['Three › Two', 'two-1', 'D.'],
    ]);
  });

  it('has the words of paragraphs, lists, tables, code and pictures, and no marks', () => {
    const markdown =
      '# Page\n\nOne *two*\n[three](x.md) `four`.\n\n- five\n- six\n\n| seven | eight |\n| - | - |\n| nine | ten |\n\n' +
      '```sh\neleven   --twelve\n```\n\n![thirteen](x.svg) <br> fourteen\n\n<!-- fifteen -->\n';
    assert.deepEqual(textsOf(markdown), [
      [
        '',
        '',
        'One two three four. five six seven eight nine ten eleven --twelve thirteen fourteen',
      ],
    ]);
  });

  it('has what stands before the first heading, where something does', () => {
    assert.deepEqual(textsOf('Before.\n\n## One\n\nAfter.\n'), [
      ['', '', 'Before.'],
      ['One', 'one', 'After.'],
    ]);
  });
});
