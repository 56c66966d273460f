import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { foreignText } from './foreign-text.ts';

interface CommandProps {
  readonly text: string;
}

/** The label of the button goes back to the first after this. */
const toldMs = 5_000;

/** A command on a line of its own, with a button that copies it: browsers allow that over HTTPS, and on localhost. */
export function Command({ text }: CommandProps): ComponentChild {
  const [label, setLabel] = useState('Copy');
  const tell = (outcome: string): void => {
    setLabel(outcome);
    setTimeout(() => {
      setLabel('Copy');
    }, toldMs);
  };
  return h(
    'div',
    { class: 'command' },
    h('code', null, foreignText(text)),
    isSecureContext &&
      h(
        'button',
        {
          ...{ type: 'button', class: 'more', title: text },
          onClick: () => {
            navigator.clipboard.writeText(text).then(
              () => {
                tell('Copied');
              },
              () => {
                tell('Not allowed: select it');
              },
            );
          },
        },
        h('span', { role: 'status' }, label),
      ),
  );
}
