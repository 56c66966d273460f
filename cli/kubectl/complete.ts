import { offerFor, type CompletionCommand } from '../completion/commands.ts';
import { Kubectl } from './kubectl.ts';
import { syncsResource } from './resources.ts';

/** A user is waiting at the prompt. */
const deadlineMs = 3_000;

/** Valid names of Kubernetes objects. Some shells expand what they are offered, so nothing else is. */
const objectName = /^[a-z0-9][a-z0-9.-]*$/;

/** The directive after the words: whether files may be offered as well. */
const directives = { noFiles: ':4', files: ':0' } as const;

/**
 * What kubectl expects of a plugin's completion: the candidates for the last word, one per line, then a directive.
 * Names are those of existing ClusterSyncs; none if they cannot be listed in time.
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
    namespace: valueOf('--namespace') ?? valueOf('-n'),
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
