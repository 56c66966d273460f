/**
 * What begins a comment in a line of TypeScript, as prettier leaves it: a line of its own, with the indentation before it, or `//` with the
 * white space before it.
 */
export const commentMark = /^\s*(?:\/\/|\/\*\*?|\*)(?=[\s/]|$)|\s\/\/(?=\s|$)/;
