import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';

interface TokenFormProps {
  /** A token was given and rejected. */
  readonly isWrong: boolean;
  readonly onToken: (token: string) => void;
}

/** Asks for the token. */
export function TokenForm({ isWrong, onToken }: TokenFormProps): ComponentChild {
  const [text, setText] = useState('');
  return h(
    'form',
    {
      class: 'card token',
      onSubmit: (event: Event) => {
        event.preventDefault();
        if (text.trim() !== '') onToken(text.trim());
      },
    },
    h('h1', null, 'This dashboard requires a token'),
    h(
      'p',
      { class: 'muted' },
      'It is in the Secret named by the chart value dashboard.tokenSecret. The browser keeps it until you close this tab.',
    ),
    h('label', { for: 'token' }, 'Token'),
    h('input', {
      id: 'token',
      type: 'password',
      autocomplete: 'off',
      value: text,
      'aria-invalid': isWrong,
      'aria-describedby': isWrong ? 'token-error' : undefined,
      onInput: (event: InputEvent) => {
        setText((event.target as HTMLInputElement).value);
      },
    }),
    isWrong &&
      h('p', { id: 'token-error', class: 'error', role: 'alert' }, 'That is not the token.'),
    h('button', { type: 'submit', class: 'primary' }, 'Show the syncs'),
  );
}
