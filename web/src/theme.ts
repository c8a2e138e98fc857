/** Light or dark: as the system says, unless somebody chose. */
import { useState } from 'react'
import { readText, writeText } from './kept-text.ts'

export type Theme = 'system' | 'light' | 'dark'
const place = 'tieline.theme'
const themes: readonly Theme[] = ['system', 'light', 'dark']

export const keptTheme = (): Theme => themes.find((theme) => theme === readText(place)) ?? 'system'

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(keptTheme)
  return [
    theme,
    (next) => {
      writeText(place, next)
      applyTheme(next)
      setTheme(next)
    },
  ]
}
