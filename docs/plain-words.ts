/** A phrase to avoid, as the table of docs/style.md shows it, and what finds it in a text. */
export interface PlainWord {
  readonly instead: string;
  readonly write: string;
  /** A space stands for any white space; what it finds is shown. Finds `instead`, and does not find `write`. */
  readonly pattern: RegExp;
}

/** The words of this project: docs/style.md has them as a table, and docs/prose.test.ts holds all texts to them. */
export const plainWords: readonly PlainWord[] = [
  // Phrases that other languages have, and English has not.
  row('the sync goes on', 'the sync continues', /\bgo(?:es|ing|ne)? on\b(?! to\b)|\bwent on\b/),
  row('begins again, begins anew', 'starts over, restarts', /\b(?:beg[aiu]ns? again|anew)\b/),
  row('comes over', 'is copied', /\bcomes? over\b/),
  row('is turned round', 'is reversed', /\bturn(?:s|ed|ing)? round\b/),
  row('it is to be had from', 'get it from', /\b(?:to be had|be had from|can(?:not)? be had)\b/),
  row('it cannot be done without', 'it is required', /\b(?:do|done) without\b/),
  row('whoever, whomever', 'anyone who', /\bwho(?:m|so)?ever\b/),
  row('is told', 'receives, learns', /\b(?:is|are|was|were|be) told\b/),
  row('can be told from, is told apart', 'is distinguished from', /\btold (?:apart|from|by)\b/),
  row('says how far it is', 'shows the progress', /\bhow far (?:it|they) (?:is|are)\b/),
  row('speaks of', 'describes, mentions', /\b(?:speaks?|spoken) of\b/),
  row('is asked', 'is queried', /\b(?:is|are) asked\b(?! (?:for|to|about)\b)/),
  row(
    'brings what differs',
    'copies what differs',
    /\bbrings? (?:only|what|those|everything|the)\b/,
  ),
  row('is passed over', 'is skipped', /\bpass(?:es|ed|ing)? over\b(?! the)/),
  row('stands still', 'pauses', /\b(?:stands?|stood|standing) still\b/),
  row('stands in the list', 'is in the list', /\b(?:stands?|stood) (?:in|there|here|elsewhere)\b/),
  row('does it in vain', 'fails to do it', /\bin vain\b/),
  row('is of the type', 'has the type', /\b(?:is|are|was|were) of the (?:type|kind)\b/),
  row('of one `_id`', 'with the same `_id`', /\bof one `?(?:_?id|name)\b/),
  row('those of others', "those of other users, another tool's", /\bof others\b/),
  row('is another one', 'is different', /\b(?:is|are) (?:another one|other ones)\b/),
  row('one too many', 'too many', /\bone too many\b/),
  row('the same holds', 'the same applies', /\bthe same holds\b/),
  row('exclude each other', 'are mutually exclusive', /\bexclude each other\b/),
  row('out of touch', 'cannot reach', /\bout of touch\b/),
  // Words in other places than English has them.
  row(
    'reads the oplog alone',
    'reads only the oplog',
    /(?<!\b(?:leaves?|left|let|works?|comes?|is|all|it|stands?) )\balone\b(?!,? or\b)/,
  ),
  row('changes nothing but the name', 'changes only the name', /\bnothing but\b/),
  row('besides, it counts', 'it also counts', /\bbesides\b/),
  row('by itself, of itself', 'on its own, automatically', /\b(?:by|of) (?:itself|themselves)\b/),
  row('at the earliest', 'not before', /\bat the (?:earliest|latest)\b/),
  row(
    'is no proof',
    'is not proof',
    /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|such\b|more\b)/,
  ),
  row('has other options than', 'has different options from', /\bother \w+ than\b/),
  row('of other than documents', 'that holds something else', /\bof other than\b/),
  row(
    ', also if it fails',
    ', even if it fails',
    /, also (?:if|when|where|while|those|by|the|in|of|on|from|after|before)\b/,
  ),
  row('it says what for', 'it gives the reason', /\bwhat for\b/),
  // Words with two meanings.
  row('at once', 'immediately; at the same time', /\bat once\b/),
  row('not any more', 'no longer', /\bany ?more\b/),
  row('in place of', 'instead of', /\bin place of\b/),
  row('the former sync', 'the previous sync', /\bformer\b/),
  row('in case of', 'if, when', /\bin case of\b/),
  // Long, old or polite.
  row('in order to', 'to', /\b(?:in order to|so as to)\b/),
  row('prior to, subsequent to', 'before, after', /\b(?:prior|subsequent) to\b/),
  row('utilize, leverage', 'use', /\b(?:utili[sz]e|leverage)[sd]?\b/),
  row('it is possible to', 'you can', /\bit is (?:also )?possible to\b/),
  row('allows to', 'lets you', /\ballows? to\b/),
  row(
    'hence, thus, thereby',
    'so',
    /\b(?:hence|thus|thereby|thereof|thereupon|whereupon|whereby|wherein|therein)\b/,
  ),
  row('shall', 'must, will', /\bshall\b/),
  row('please report it', 'report it', /\bplease\b/),
  row('the like', 'similar', /\bthe like\b/),
  row(
    'simply, obviously, of course',
    '(leave it out)',
    /\b(?:simply|obviously|of course|basically)\b/,
  ),
  row('e.g., i.e., etc.', 'for example, that is', /\b(?:e\.g\.|i\.e\.|etc\.)/),
];

function row(instead: string, write: string, pattern: RegExp): PlainWord {
  // Sentences begin with capitals, and texts are wrapped.
  const source = pattern.source.replaceAll(' ?', '\\s*').replaceAll(' ', '\\s+');
  return { instead, write, pattern: new RegExp(source, 'gi') };
}

/** The table of docs/style.md: what is found, and what to write. */
export const plainWordRows: readonly (readonly [string, string])[] = plainWords.map(
  ({ instead, write }) => [instead, write],
);
