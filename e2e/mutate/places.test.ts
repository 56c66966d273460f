import assert from 'node:assert/strict';
import ts from 'typescript';
import { kinds, mutated, nameOf, placesOf, type Kind, type Place } from './places.ts';

/** The body of a function with parameters of several types. */
function inFunction(body: string): string {
  return `async function f(a: number, b: number, p: boolean, q: boolean, list: number[], g: (...n: number[]) => void, h: (o: { x?: number }) => number) { ${body} }`;
}

function isValid(text: string): boolean {
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
  return diagnostics?.length === 0;
}

const changes: readonly (readonly [Kind, from: string, to: string])[] = [
  ['negate', 'if (p) g(a);', 'if (!(p)) g(a);'],
  ['negate', 'while (a > b) g(a);', 'while (!(a > b)) g(a);'],
  ['negate', 'return p ? a : b;', 'return !(p) ? a : b;'],
  ['negate', 'return a > b;', 'return !(a > b);'],
  ['negate', 'list.filter((n) => n > a);', 'list.filter((n) => !(n > a));'],
  ['comparison', 'if (a < b) g(a);', 'if (a <= b) g(a);'],
  ['comparison', 'if (a >= b) g(a);', 'if (a > b) g(a);'],
  ['comparison', 'if (p && a === b) g(a);', 'if (p && a !== b) g(a);'],
  ['logic', 'if (p && q) g(a);', 'if (p || q) g(a);'],
  ['logic', 'if (p || q) g(a);', 'if (p && q) g(a);'],
  ['remove', 'g(a);', ';'],
  ['remove', 'await Promise.resolve(a);', ';'],
  ['remove', 'a = b;', ';'],
  ['remove', "if (p) throw new Error('no');", 'if (p) ;'],
  ['remove', 'if (p) return; g(a);', 'if (p) ; g(a);'],
  ['return', 'g(a); g(b);', 'return; g(a); g(b);'],
  ['boolean', 'p = true;', 'p = false;'],
  ['plus-one', 'a = list[0];', 'a = list[1];'],
  ['minus-one', 'a = 0;', 'a = (-1);'],
  ['arithmetic', 'a = b + b;', 'a = b - b;'],
  ['arithmetic', 'a -= b;', 'a += b;'],
  ['element', 'list = [a, b];', 'list = [b];'],
  ['element', 'list = [...list, b];', 'list = [b];'],
  ['element', 'list = [a];', 'list = [];'],
  ['element', 'a = h({ x: b });', 'a = h({  });'],
  ['swap', 'g(a, b);', 'g(b, a);'],
  ['extreme', 'a = Math.min(a, b);', 'a = Math.max(a, b);'],
  ['quantifier', 'p = list.some((n) => n > a);', 'p = list.every((n) => n > a);'],
];

const nothing: readonly (readonly [what: string, text: string])[] = [
  ['outside functions', 'const a = 1 + 2; let p = a > 1 && true; p = [a].some((n) => n);'],
  ['in types', 'function f(): void { let v: [1, 2] | true | undefined; }'],
  ['in log calls', 'function f(a: number) { logger.info(a + 1, a > 2 ? a : [a]); }'],
  ['in texts', inFunction('const text = `${a + 1} ${p && q}`;')],
  ['in the arguments of errors', inFunction('const error = new Error(p ? "1" : "2");')],
  ['in times', inFunction('const delayMs = 60 * 10;')],
  ['in pairs', 'function f(a: string) { let pair: [string, string] = [a, a]; }'],
  ['in endless loops', 'function f() { while (true); }'],
  ['in what a constructor must do', 'class A { b; constructor(b: number) { this.b = b; } }'],
];

/** The places of each text, each as a file that nobody has written to a disk. */
function placesIn(texts: readonly string[]): ReadonlyMap<string, readonly Place[]> {
  const options = { target: ts.ScriptTarget.ES2024, strict: true, types: [] };
  const host = ts.createCompilerHost(options);
  const files = new Map(
    texts.map((text, index) => {
      const path = `snippet-${index}.ts`;
      return [path, ts.createSourceFile(path, text, options.target, true)];
    }),
  );
  const program = ts.createProgram([...files.keys()], options, {
    ...host,
    getSourceFile: (name, target) => files.get(name) ?? host.getSourceFile(name, target),
  });
  const checker = program.getTypeChecker();
  return new Map([...files].map(([path, file]) => [file.text, placesOf(file, path, checker)]));
}

describe('placesOf', () => {
  let places: ReadonlyMap<string, readonly Place[]>;

  // It reads the types of the language.
  before(function () {
    this.timeout(60_000);
    const texts = [
      ...changes.map(([, from]) => inFunction(from)),
      ...nothing.map(([, text]) => text),
    ];
    places = placesIn([...new Set(texts)]);
  });

  for (const [kind, from, to] of changes) {
    it(`${kind}: ${from} becomes ${to}`, () => {
      const text = inFunction(from);
      const results = (places.get(text) ?? [])
        .filter((place) => place.kind === kind)
        .map((place) => mutated(text, place));
      assert.ok(results.includes(inFunction(to)), results.join('\n'));
    });
  }

  it('has examples of all kinds', () => {
    assert.deepEqual(new Set(changes.map(([kind]) => kind)), new Set(kinds));
  });

  it('makes valid code, which differs, each change with a name of its own', () => {
    let count = 0;
    for (const [, from] of changes) {
      const text = inFunction(from);
      const found = places.get(text) ?? [];
      for (const place of found) {
        const result = mutated(text, place);
        assert.notEqual(result, text, nameOf(place));
        assert.ok(isValid(result), `${nameOf(place)}\n${result}`);
      }
      assert.equal(new Set(found.map(nameOf)).size, found.length);
      count += found.length;
    }
    assert.ok(count > 60, `${count} places`);
    assert.ok(!isValid('if (;'));
  });

  for (const [what, text] of nothing) {
    it(`finds nothing ${what}`, () => {
      assert.deepEqual(places.get(text)?.map(nameOf), []);
    });
  }
});
