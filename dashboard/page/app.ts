import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { icon } from './icons.ts';
import { Overview } from './overview.ts';
import { useRoute } from './route.ts';
import { SyncPage } from './sync-page.ts';
import { TokenForm } from './token-form.ts';
import { useTheme } from './theme.ts';

/** The key under which a browser tab remembers the token: until it is closed. */
const tokenKey = 'clustersync-token';

/** The whole page. */
export function App(): ComponentChild {
  const route = useRoute();
  const [token, setToken] = useState(sessionStorage.getItem(tokenKey) ?? undefined);
  const [isAsking, setAsking] = useState(false);
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
  };
  return h(
    'div',
    { class: 'frame' },
    h('a', { class: 'skip', href: '#content', onClick: focusContent }, 'Skip to the content'),
    h(Header, {}),
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

function Header(): ComponentChild {
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
