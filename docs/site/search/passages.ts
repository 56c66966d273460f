import type { Page } from '../markdown.ts';

/** What the search finds: a page from one heading to the next. */
export interface Passage {
  /** The page, from the root of the site. */
  readonly path: string;
  /** Empty where it is the page as a whole. */
  readonly anchor: string;
  readonly title: string;
  /** The headings that it stands below, the nearest last; empty at the beginning of a page. */
  readonly headings: readonly string[];
  readonly text: string;
  /** The page is in the navigation. */
  readonly isListed: boolean;
}

/** The passages of a page, in their order. */
export function passagesOf(
  { path, title, isListed }: Pick<Passage, 'path' | 'title' | 'isListed'>,
  { parts }: Pick<Page, 'parts'>,
): Passage[] {
  const above: { readonly level: number; readonly text: string }[] = [];
  return parts.map(({ heading, text }) => {
    if (heading === undefined || heading.level === 1)
      return { path, anchor: '', title, headings: [], text, isListed };
    while ((above.at(-1)?.level ?? 0) >= heading.level) above.pop();
    above.push(heading);
    const headings = above.map((each) => each.text);
    return { path, anchor: heading.anchor, title, headings, text, isListed };
  });
}
