import ts from 'typescript';
import { SeededRandom } from '../ground/workload/seeded-random.ts';

/** The kinds of mutations; CONTRIBUTING.md lists what each does. */
export const kinds = [
  'negate',
  'comparison',
  'logic',
  'remove',
  'return',
  'boolean',
  'plus-one',
  'minus-one',
  'arithmetic',
  'element',
  'swap',
  'extreme',
  'quantifier',
] as const;
export type Kind = (typeof kinds)[number];

/** A change of one place of a file. */
export interface Place {
  /** From the root of the checkout. */
  readonly path: string;
  /** From 1, as editors count. */
  readonly line: number;
  readonly column: number;
  readonly kind: Kind;
  /** What is replaced, in UTF-16 units from the beginning of the file; empty where text is inserted. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What `AT` takes: `path:line:column:kind`. */
export function nameOf({ path, line, column, kind }: Place): string {
  return `${path}:${line}:${column}:${kind}`;
}

/** The text of the file with the change. */
export function mutated(source: string, { start, end, text }: Place): string {
  return source.slice(0, start) + text + source.slice(end);
}

/** Some of the places, in a random order: the same for the same seed. */
export function choosePlaces(all: readonly Place[], seed: number, count: number): readonly Place[] {
  const random = new SeededRandom(seed);
  const left = [...all];
  return Array.from({ length: Math.min(count, all.length) }).flatMap(() =>
    left.splice(random.below(left.length), 1),
  );
}

const operators = new Map<ts.SyntaxKind, readonly [Kind, string]>([
  [ts.SyntaxKind.LessThanToken, ['comparison', '<=']],
  [ts.SyntaxKind.LessThanEqualsToken, ['comparison', '<']],
  [ts.SyntaxKind.GreaterThanToken, ['comparison', '>=']],
  [ts.SyntaxKind.GreaterThanEqualsToken, ['comparison', '>']],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, ['comparison', '!==']],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, ['comparison', '===']],
  [ts.SyntaxKind.AmpersandAmpersandToken, ['logic', '||']],
  [ts.SyntaxKind.BarBarToken, ['logic', '&&']],
  [ts.SyntaxKind.PlusToken, ['arithmetic', '-']],
  [ts.SyntaxKind.MinusToken, ['arithmetic', '+']],
  [ts.SyntaxKind.PlusEqualsToken, ['arithmetic', '-=']],
  [ts.SyntaxKind.MinusEqualsToken, ['arithmetic', '+=']],
]);
const isEquality = (operator: ts.SyntaxKind): boolean =>
  operator === ts.SyntaxKind.EqualsEqualsEqualsToken ||
  operator === ts.SyntaxKind.ExclamationEqualsEqualsToken;

const otherNames: Readonly<Record<string, readonly [Kind, string]>> = {
  min: ['extreme', 'max'],
  max: ['extreme', 'min'],
  some: ['quantifier', 'every'],
  every: ['quantifier', 'some'],
};

/** Names whose numbers are times or sizes: one more or less is another pace, not another outcome. */
const measure = /(?:Ms|Seconds|Minutes|Hours|Bytes|Mb)$/;
const logging = /(?:^|\.)#?(?:logger|log)\.\w+$|(?:^|\.)logOnce$/;
/** Left out, these leave something in memory for longer, or the process alive; other programs' tests look at that. */
const tidying = /(?:^|\.)(?:unref|clearTimeout|clearInterval|removeEventListener)$/;
const messageNames = /^(?:message|detail|description|help|title|hint|reason)$/;
const maxNumber = 64;

/**
 * All places of a file whose change a test should notice, in their order. Outside functions there are none, nor in types, log
 * calls, texts, errors' arguments and times.
 */
export function placesOf(
  source: ts.SourceFile,
  path: string,
  checker: ts.TypeChecker,
): readonly Place[] {
  const places = new Map<string, Place>();
  const add = (kind: Kind, start: number, end: number, text: string): void => {
    const at = source.getLineAndCharacterOfPosition(start);
    const place = { path, line: at.line + 1, column: at.character + 1, kind, start, end, text };
    if (!places.has(nameOf(place))) places.set(nameOf(place), place);
  };
  const replace = (kind: Kind, node: ts.Node, text: string): void => {
    add(kind, node.getStart(), node.end, text);
  };
  const negate = (condition: ts.Expression): void => {
    replace('negate', condition, `!(${condition.getText()})`);
  };
  const without = (all: ts.NodeArray<ts.Node>, index: number): void => {
    const [node, next, before] = [all[index], all[index + 1], all[index - 1]];
    if (node === undefined) return;
    // A place is named by where the part begins, so that each has a name of its own.
    if (next !== undefined) add('element', node.getStart(), next.getStart(), '');
    else if (before === undefined || all.hasTrailingComma)
      add('element', node.getStart(), all.end, '');
    else add('element', node.getStart(), node.end, '');
  };

  const visit = (node: ts.Node, isInside: boolean): void => {
    if (isLeftOut(node)) return;
    if (isInside) look(node);
    const body = ts.isFunctionLike(node) && 'body' in node ? node.body : undefined;
    ts.forEachChild(node, (child) => {
      visit(child, isInside || child === body);
    });
    if (ts.isFunctionLike(node)) lookAtFunction(node);
  };

  const look = (node: ts.Node): void => {
    if (ts.isIfStatement(node) || ts.isDoStatement(node)) negate(node.expression);
    else if (ts.isWhileStatement(node)) {
      if (node.expression.kind !== ts.SyntaxKind.TrueKeyword) negate(node.expression);
    } else if (ts.isForStatement(node)) {
      if (node.condition) negate(node.condition);
    } else if (ts.isConditionalExpression(node)) negate(node.condition);
    else if (ts.isReturnStatement(node)) {
      if (node.expression === undefined) replace('remove', node, ';');
      else if (isOfType(checker, node.expression, ts.TypeFlags.BooleanLike))
        negate(node.expression);
    } else if (ts.isThrowStatement(node)) replace('remove', node, ';');
    else if (ts.isExpressionStatement(node)) {
      if (isWorthRemoving(node.expression)) replace('remove', node, ';');
    } else if (ts.isBinaryExpression(node)) lookAtOperator(node);
    else if (isBoolean(node)) {
      const isOfLoop = ts.isWhileStatement(node.parent);
      if (!isOfLoop)
        replace('boolean', node, node.kind === ts.SyntaxKind.TrueKeyword ? 'false' : 'true');
    } else if (ts.isNumericLiteral(node)) lookAtNumber(node);
    else if (ts.isArrayLiteralExpression(node)) {
      if (!isAssigned(node) && !isTuple(checker, node))
        for (const index of node.elements.keys()) without(node.elements, index);
    } else if (ts.isObjectLiteralExpression(node)) {
      node.properties.forEach((property, index) => {
        if (mayBeLeftOut(checker, node, property)) without(node.properties, index);
      });
    } else if (ts.isCallExpression(node)) lookAtCall(node);
  };

  const lookAtFunction = (node: ts.SignatureDeclaration): void => {
    if (!('body' in node) || node.body === undefined || ts.isConstructorDeclaration(node)) return;
    const { body } = node;
    if (!ts.isBlock(body)) {
      const isPredicate = isOfType(checker, body, ts.TypeFlags.BooleanLike);
      if (isPredicate && !isBoolean(body) && !ts.isCallExpression(body)) negate(body);
      return;
    }
    const [first] = body.statements;
    // With one statement alone, this would be its removal.
    if (first && body.statements.length > 1 && !returnsValue(body))
      add('return', first.getStart(), first.getStart(), 'return; ');
  };

  const lookAtOperator = (node: ts.BinaryExpression): void => {
    const [kind, other] = operators.get(node.operatorToken.kind) ?? [];
    if (kind === undefined || other === undefined) return;
    // These are the same as their negation, which is a place already.
    const isPart = ts.isBinaryExpression(node.parent) || ts.isVariableDeclaration(node.parent);
    if (isEquality(node.operatorToken.kind) && !isPart) return;
    const isNumeric = isOfType(checker, node, ts.TypeFlags.NumberLike | ts.TypeFlags.BigIntLike);
    if (kind === 'arithmetic' && !isNumeric) return;
    replace(kind, node.operatorToken, other);
  };

  const lookAtNumber = (node: ts.NumericLiteral): void => {
    const value = Number(node.text);
    if (node.getText() !== String(value) || !Number.isInteger(value) || value > maxNumber) return;
    const { parent } = node;
    // A name of a command, a field of a projection: any other number but 0 says the same.
    const isSwitch = ts.isPropertyAssignment(parent) && value === 1;
    if (!isSwitch) replace('plus-one', node, String(value + 1));
    const isFirst =
      ts.isPropertyAssignment(parent) && parent.parent.properties[0] === parent && isSwitch;
    if (!isFirst) replace('minus-one', node, value === 0 ? '(-1)' : String(value - 1));
  };

  const lookAtCall = (node: ts.CallExpression): void => {
    const { expression } = node;
    if (ts.isPropertyAccessExpression(expression)) {
      const name = expression.name.text;
      const [kind, other] = Object.hasOwn(otherNames, name) ? (otherNames[name] ?? []) : [];
      const isExtreme = expression.expression.getText() === 'Math';
      if (kind && other && isExtreme === (kind === 'extreme'))
        replace(kind, expression.name, other);
      // The order of what they take does not matter.
      if (isExtreme) return;
    }
    for (const [index, argument] of node.arguments.entries()) {
      const next = node.arguments[index + 1];
      if (next === undefined || !isSameType(checker, argument, next)) continue;
      const [left, right] = [argument.getText(), next.getText()];
      if (left !== right) add('swap', argument.getStart(), next.end, `${right}, ${left}`);
    }
  };

  visit(source, false);
  return [...places.values()].toSorted((a, b) => a.start - b.start);
}

/** Whether nothing in a part of the code is changed. */
function isLeftOut(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
    return true;
  if (ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)) return true;
  if (ts.isTemplateExpression(node)) return true;
  if (ts.isNewExpression(node)) return /(?:Error|Answer)$/.test(node.expression.getText());
  if (ts.isCallExpression(node))
    return logging.test(node.expression.getText()) || isMadeToThrow(node);
  if (ts.isExpressionStatement(node)) {
    const called = bare(node.expression);
    return ts.isCallExpression(called) && logging.test(called.expression.getText());
  }
  const named =
    ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node) || ts.isParameter(node);
  if (!named) return false;
  const name = node.name.getText();
  if (messageNames.test(name)) return true;
  return measure.test(name) && node.initializer !== undefined && isCalculation(node.initializer);
}

/** Numbers and what is calculated of them, without names. */
function isCalculation(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) return isCalculation(node.left) && isCalculation(node.right);
  return ts.isNumericLiteral(node);
}

/** A call whose answer is thrown: it makes an error. */
function isMadeToThrow(node: ts.CallExpression): boolean {
  return ts.isThrowStatement(node.parent);
}

function isBoolean(node: ts.Node): boolean {
  return node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword;
}

/** Without `await`, `void` and parentheses. */
function bare(node: ts.Expression): ts.Expression {
  if (ts.isAwaitExpression(node) || ts.isVoidExpression(node)) return bare(node.expression);
  return ts.isParenthesizedExpression(node) ? bare(node.expression) : node;
}

function isWorthRemoving(expression: ts.Expression): boolean {
  const node = bare(expression);
  if (ts.isCallExpression(node)) {
    const called = node.expression;
    return called.kind !== ts.SyntaxKind.SuperKeyword && !tidying.test(called.getText());
  }
  if (!ts.isBinaryExpression(node)) return true;
  // A field of a new object: nothing works without it.
  const isOfParameter = ts.isIdentifier(node.right) && node.left.getText().startsWith('this.');
  const constructorOf = node.parent.parent.parent;
  return !(isOfParameter && ts.isConstructorDeclaration(constructorOf));
}

/** Whether an array is the left side of an assignment. */
function isAssigned(node: ts.ArrayLiteralExpression): boolean {
  const { parent } = node;
  if (ts.isForOfStatement(parent)) return parent.initializer === node;
  return (
    ts.isBinaryExpression(parent) &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    parent.left === node
  );
}

/** Whether the type of an array asks for each of its elements. */
function isTuple(checker: ts.TypeChecker, node: ts.ArrayLiteralExpression): boolean {
  const type = checker.getContextualType(node);
  return type !== undefined && checker.isTupleType(type);
}

/** A part of an object that its type does not ask for: the option of a command, say. */
function mayBeLeftOut(
  checker: ts.TypeChecker,
  object: ts.ObjectLiteralExpression,
  property: ts.ObjectLiteralElementLike,
): boolean {
  if (ts.isBinaryExpression(object.parent) && object.parent.left === object) return false;
  if (ts.isSpreadAssignment(property)) return true;
  const name = property.name.getText();
  if (messageNames.test(name)) return false;
  const type = checker.getContextualType(object);
  if (type === undefined) return false;
  const declared = checker.getPropertyOfType(type, name);
  if (declared) return (declared.flags & ts.SymbolFlags.Optional) !== 0;
  return checker.getIndexInfosOfType(type).length > 0;
}

function isOfType(checker: ts.TypeChecker, node: ts.Expression, flags: ts.TypeFlags): boolean {
  const type = checker.getTypeAtLocation(node);
  const parts = type.isUnion() ? type.types : [type];
  return parts.every((part) => (part.flags & flags) !== 0);
}

function isSameType(checker: ts.TypeChecker, one: ts.Expression, other: ts.Expression): boolean {
  if (ts.isSpreadElement(one) || ts.isSpreadElement(other)) return false;
  const texts = [one, other].map((node) => {
    const type = checker.getTypeAtLocation(node);
    return checker.typeToString(checker.getBaseTypeOfLiteralType(type));
  });
  return texts[0] === texts[1] && texts[0] !== 'any';
}

/** Whether a function returns a value: a return without one would be another type. */
function returnsValue(body: ts.Block): boolean {
  const look = (node: ts.Node): boolean => {
    if (ts.isFunctionLike(node)) return false;
    if (ts.isReturnStatement(node) && node.expression !== undefined) return true;
    return ts.forEachChild(node, look) ?? false;
  };
  return look(body);
}
