import { useEffect, useState } from 'preact/hooks';

export type Theme = 'light' | 'dark';

const key = 'clustersync-theme';

/** Light or dark: the system's setting, unless the user has chosen. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [chosen, setChosen] = useState<Theme | undefined>(() => {
    const kept = localStorage.getItem(key);
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
      localStorage.setItem(key, next);
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
