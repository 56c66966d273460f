import { harmlessXml } from '../../service/terminal.ts';
import type { MismatchView } from '../compare/mismatch.ts';
import { mismatchText, verdictText, type Report } from './report.ts';

/** Differences of a namespace that its test case tells one by one. */
const maxTold = 1000;

/**
 * A report as JUnit XML: one test case for the verification, and one for each namespace that was compared or differs. Both
 * streams are in the order of namespaces.
 */
export async function* formatJunit({
  head,
  mismatches,
  namespaces,
}: Report): AsyncGenerator<string, void> {
  const { verification } = head;
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<testsuite name="${xml(`clustersync ${verification}`)}">\n`;
  yield testCase(verification, 'verdict', head.verdict === 'equal' ? [] : [verdictText(head)]);
  const rest = mismatches[Symbol.asyncIterator]();
  let next = await rest.next();
  const takeOf = async (namespace: string): Promise<string[]> => {
    const told: string[] = [];
    let count = 0;
    for (; next.done !== true && next.value.namespace === namespace; next = await rest.next()) {
      count += 1;
      if (told.length < maxTold) told.push(mismatchText(next.value));
    }
    return count > told.length ? [...told, `and ${count - told.length} more`] : told;
  };
  const upTo = async function* (namespace: string | undefined): AsyncGenerator<string, void> {
    for (;;) {
      const value: MismatchView | undefined = next.done === true ? undefined : next.value;
      if (!value || (namespace !== undefined && !isBefore(value.namespace, namespace))) return;
      yield testCase(verification, value.namespace, await takeOf(value.namespace));
    }
  };
  for await (const { namespace } of namespaces) {
    yield* upTo(namespace);
    yield testCase(verification, namespace, await takeOf(namespace));
  }
  yield* upTo(undefined);
  yield '</testsuite>\n';
}

/** In the order of the metadata store: of the bytes of UTF-8. */
function isBefore(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

function testCase(className: string, name: string, failures: readonly string[]): string {
  const open = `  <testcase classname="${xml(className)}" name="${xml(name)}"`;
  if (failures.length === 0) return `${open}/>\n`;
  const [first = ''] = failures;
  const text = failures.map(xml).join('\n');
  return `${open}>\n    <failure message="${xml(first)}">${text}</failure>\n  </testcase>\n`;
}

/** Text as XML 1.0 takes it: characters that it has no way to say are left out. */
function xml(text: string): string {
  const escaped = text
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#xa;');
  return harmlessXml(escaped);
}
