import { h, type ComponentChild } from 'preact';
import { useState, useEffect } from 'preact/hooks';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { Overview } from './overview.ts';
import { useRoute } from './route.ts';
import { SyncPage } from './sync-page.ts';
import { usePage } from './use-page.ts';

/** The key under which a browser tab remembers the token: until it is closed. */
const tokenKey = 'clustersync-token';

/** The whole page. */
export function App(): ComponentChild {
  const route = useRoute();
  const [token, setToken] = useState(sessionStorage.getItem(tokenKey) ?? undefined);
  const [isAsking, setAsking] = useState(false);
  const [page, takePage] = usePage();
  const take = (given: string): void => {
    sessionStorage.setItem(tokenKey, given);
    setToken(given);
    setAsking(false);
  };
  const access = {
    token,
    onUnauthorized: () => {
      setAsking(true);
    },
    onPage: takePage,
  };
  return h(
    'div',
    { class: 'frame' },
    h('a', { class: 'skip', href: '#content', onClick: focusContent }, 'Skip to the content'),
    h(Header, { version: page?.version }),
    h(
      'main',
      { id: 'content', tabIndex: -1 },
      isAsking
        ? h(TokenForm, { isWrong: token !== undefined, onToken: take })
        : route.kind === 'all'
          ? h(Overview, access)
          : h(SyncPage, { ...access, namespace: route.namespace, name: route.name }),
    ),
  );
}

/** The address stays: it determines what is shown. */
function focusContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

interface HeaderProps {
  /** Of the program that serves the page; undefined until it has said so. */
  readonly version: string | undefined;
}

function Header({ version }: HeaderProps): ComponentChild {
  const [theme, setTheme] = useTheme();
  const next = theme === 'dark' ? 'light' : 'dark';
  return h(
    'header',
    { class: 'top' },
    h(
      'a',
      { class: 'brand', href: '#/' },
      h('img', { src: 'assets/dashboard/page/icon.svg', alt: '', width: 24, height: 24 }),
      'clustersync',
      version !== undefined && h('span', { class: 'version muted' }, foreignText(version)),
    ),
    h(
      'button',
      {
        class: 'round',
        type: 'button',
        title: `Show it ${next}`,
        'aria-label': `Show it ${next}`,
        onClick: () => {
          setTheme(next);
        },
      },
      icon(theme === 'dark' ? 'sun' : 'moon'),
    ),
  );
}

type Theme = 'light' | 'dark';

const themeKey = 'clustersync-theme';

/** Light or dark: the system's setting, unless the user has chosen. */
function useTheme(): [Theme, (theme: Theme) => void] {
  const [chosen, setChosen] = useState<Theme | undefined>(() => {
    const kept = localStorage.getItem(themeKey);
    return kept === 'light' || kept === 'dark' ? kept : undefined;
  });
  const system = useSystemTheme();
  const theme = chosen ?? system;
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  return [
    theme,
    (next) => {
      localStorage.setItem(themeKey, next);
      setChosen(next);
    },
  ];
}

function useSystemTheme(): Theme {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const note = (): void => {
      setDark(query.matches);
    };
    query.addEventListener('change', note);
    return () => {
      query.removeEventListener('change', note);
    };
  }, []);
  return isDark ? 'dark' : 'light';
}

interface TokenFormProps {
  /** A token was given and rejected. */
  readonly isWrong: boolean;
  readonly onToken: (token: string) => void;
}

/** Asks for the token. */
function TokenForm({ isWrong, onToken }: TokenFormProps): ComponentChild {
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
