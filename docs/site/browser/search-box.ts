// The search of the documentation, as each page has it. It is run as a script and not as a module: it imports only types.
import type Library from 'minisearch';
import type { SearchOptions, SearchResult } from 'minisearch';
import type { Passage } from '../search/passages.ts';

declare global {
  // What the other scripts of the search leave behind.
  var MiniSearch: typeof Library;
  var passages: readonly Passage[];
}

interface Found {
  readonly passage: Passage;
  /** Words of the passage, as in the text, in small letters. */
  readonly words: readonly string[];
}

const maxShown = 20;
const excerptLength = 180;
const lengthBefore = 50;

const scriptUrl =
  document.currentScript instanceof HTMLScriptElement ? document.currentScript.src : '';
const siteUrl = new URL('../', scriptUrl);

const input = element('input', {
  type: 'search',
  placeholder: 'Search (press /)',
  autocomplete: 'off',
  spellcheck: 'false',
  enterkeyhint: 'go',
  'aria-label': 'Search the documentation',
  'aria-controls': 'search-results',
});
const status = element('p', { role: 'status' });
const list = element('ol', {});
const results = element(
  'div',
  { id: 'search-results', class: 'results', hidden: '' },
  status,
  list,
);
const box = element('form', { class: 'search', role: 'search' }, input, results);
document.querySelector('header a')?.after(box);

let finder: Promise<(words: string) => Found[]> | undefined;

input.addEventListener('focus', () => void load().catch(() => undefined));
input.addEventListener('input', () => void show());
box.addEventListener('submit', (event) => {
  event.preventDefault();
  list.querySelector('a')?.click();
});
box.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !results.hidden) {
    // Without this it would empty the box: so it does the next time.
    event.preventDefault();
    input.focus();
    close();
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    move(event.key === 'ArrowDown' ? 1 : -1);
  }
});
// Some browsers focus no link that is clicked: where the focus goes nowhere, what is pressed tells.
box.addEventListener('focusout', ({ relatedTarget }) => {
  if (relatedTarget instanceof Node && !box.contains(relatedTarget)) close();
});
document.addEventListener('pointerdown', ({ target }) => {
  if (!(target instanceof Node && box.contains(target))) close();
});
box.addEventListener('focusin', () => {
  if (input.value.trim() !== '') results.hidden = false;
});
// A place of the same page is gone to without a new one.
list.addEventListener('click', () => {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  close();
});
document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  if (key !== '/' || ctrlKey || metaKey || altKey || target === input) return;
  event.preventDefault();
  input.focus();
  input.select();
});

function close(): void {
  results.hidden = true;
}

/** From the words to the first result, from one to the next, and back. */
function move(by: 1 | -1): void {
  const stops = [input, ...list.querySelectorAll('a')];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops[Math.min(stops.length - 1, Math.max(0, at + by))]?.focus();
}

/** Shows what is found of what is in the box now. */
async function show(): Promise<void> {
  const words = input.value.trim();
  if (words === '') {
    close();
    return;
  }
  let found: Found[];
  try {
    const find = await load();
    // Something else may have been typed meanwhile.
    if (input.value.trim() !== words) return;
    found = find(words);
  } catch {
    status.textContent = 'The search could not be loaded.';
    list.replaceChildren();
    results.hidden = false;
    return;
  }
  status.textContent = statusText(found.length);
  list.replaceChildren(...found.slice(0, maxShown).map(itemOf));
  results.hidden = false;
}

function statusText(count: number): string {
  if (count === 0) return 'Nothing is found.';
  if (count > maxShown) return `The first ${maxShown} of ${count} places`;
  return count === 1 ? '1 place' : `${count} places`;
}

function itemOf({ passage, words }: Found): HTMLLIElement {
  const { path, anchor, title, headings, text } = passage;
  const url = new URL(path, siteUrl);
  url.hash = anchor;
  return element(
    'li',
    {},
    element(
      'a',
      { href: url.href },
      element('strong', {}, [title, ...headings].join(' › ')),
      element('span', {}, ...marked(excerptOf(text, words), words)),
    ),
  );
}

/** The beginning of a text, or what is around the first of the words. */
function excerptOf(text: string, words: readonly string[]): string {
  const first = text.search(patternOf(words));
  const from = first <= lengthBefore ? 0 : text.lastIndexOf(' ', first - lengthBefore) + 1;
  const isCut = from + excerptLength < text.length;
  const to = isCut ? text.lastIndexOf(' ', from + excerptLength) : text.length;
  const excerpt = text.slice(from, to > from ? to : from + excerptLength);
  return `${from > 0 ? '… ' : ''}${excerpt}${isCut ? ' …' : ''}`;
}

function marked(text: string, words: readonly string[]): (string | HTMLElement)[] {
  const pieces = text.split(new RegExp(`(${patternOf(words).source})`, 'i'));
  return pieces.map((piece, index) => (index % 2 === 0 ? piece : element('mark', {}, piece)));
}

function patternOf(words: readonly string[]): RegExp {
  return new RegExp(words.map(escaped).join('|') || '(?!)', 'i');
}

function escaped(word: string): string {
  return word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** Loads the library and the passages, once somebody wants to search. */
async function load(): Promise<(words: string) => Found[]> {
  finder ??= (async () => {
    await Promise.all([loadScript('minisearch.js'), loadScript('passages.js')]);
    return finderOf(globalThis.passages);
  })();
  try {
    return await finder;
  } catch (error) {
    finder = undefined;
    throw error;
  }
}

async function loadScript(name: string): Promise<void> {
  const script = element('script', { src: new URL(name, scriptUrl).href });
  const loaded = new Promise<void>((resolve, reject) => {
    script.addEventListener('load', () => {
      resolve();
    });
    script.addEventListener('error', () => {
      reject(new Error(`${name} cannot be loaded`));
    });
  });
  document.head.append(script);
  await loaded;
}

/** Finds passages that have all words, the last one also as a beginning; where there are none, such as are nearly the same. The best first. */
function finderOf(passages: readonly Passage[]): (words: string) => Found[] {
  const index = new globalThis.MiniSearch<{ readonly id: number }>({
    fields: ['title', 'headings', 'text'],
  });
  index.addAll(
    passages.map(({ title, headings, text }, id) => ({
      id,
      title,
      // What is above it is the heading of another section.
      headings: headings.at(-1) ?? title,
      text,
    })),
  );
  const findBy = (words: string, fuzzy: SearchOptions['fuzzy']): SearchResult[] =>
    index.search(words, {
      combineWith: 'AND',
      // The last word may not be typed to its end yet.
      prefix: (_word, at, all) => at === all.length - 1,
      ...(fuzzy !== undefined && { fuzzy }),
      boost: { headings: 3, title: 2 },
      boostDocument: (id) => (passages[Number(id)]?.isListed === true ? 1 : 0.5),
    });
  return (words) => {
    const exact = findBy(words, undefined);
    // What is nearly the same is worth showing only where nothing else is there.
    const best = exact.length > 0 ? exact : findBy(words, (word) => word.length > 4 && 0.2);
    return best.flatMap(({ id, terms }) => {
      const passage = passages[Number(id)];
      return passage ? [{ passage, words: terms }] : [];
    });
  };
}

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
