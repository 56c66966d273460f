import { offerFor } from '../completion/offer.ts';
import type { CompletionCommand } from '../completion/commands.ts';
import { Kubectl } from './kubectl.ts';
import { syncsResource } from './resources.ts';

/** Somebody waits at the prompt. */
const deadlineMs = 3_000;

/** Names of objects, as Kubernetes has them. Some shells expand what is offered to them: no other is. */
const objectName = /^[a-z0-9][a-z0-9.-]*$/;

/** What kubectl is told behind the words: whether files may stand there as well. */
const directives = { noFiles: ':4', files: ':0' } as const;

/**
 * What kubectl asks of a plugin that completes: the words that can stand in the last place, a line for each, then a directive.
 * Names are those of the ClusterSyncs that there are; none where they cannot be asked for in time.
 */
export async function kubectlCompletion(
  commands: readonly CompletionCommand[],
  words: readonly string[],
): Promise<string> {
  const offer = offerFor(commands, words);
  switch (offer.kind) {
    case 'files':
      return `${directives.files}\n`;
    case 'words':
      return linesOf(offer.words);
    case 'argument': {
      const last = words.at(-1) ?? '';
      const names = last.startsWith('-') ? [] : await syncNames(words);
      return linesOf([...names.filter((name) => name.startsWith(last)), ...offer.words]);
    }
  }
}

function linesOf(words: readonly string[]): string {
  return [...words, directives.noFiles, ''].join('\n');
}

async function syncNames(words: readonly string[]): Promise<readonly string[]> {
  const valueOf = (flag: string): string | undefined => {
    const at = words.indexOf(flag);
    return at < 0 ? undefined : words[at + 1];
  };
  const kubectl = new Kubectl({
    namespace: valueOf('--namespace'),
    context: valueOf('--context'),
    kubeconfig: valueOf('--kubeconfig'),
  });
  try {
    const args = ['get', syncsResource, '--output=name'];
    const text = await kubectl.text(args, AbortSignal.timeout(deadlineMs));
    const names = text.split('\n').map((line) => line.slice(line.indexOf('/') + 1));
    return names.filter((name) => objectName.test(name));
  } catch {
    return [];
  }
}
