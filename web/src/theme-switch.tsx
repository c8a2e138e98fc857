import { useTheme, type Theme } from './theme.ts'

const words: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' }

export function ThemeSwitch() {
  const [theme, setTheme] = useTheme()
  return (
    <label className="theme">
      <span className="unseen">Colours</span>
      <select value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
        {Object.entries(words).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  )
}
