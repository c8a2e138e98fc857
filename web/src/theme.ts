/** Light or dark, like the system unless the user chooses. */
import { useState } from 'react'
import { readText, writeText } from './browser-storage.ts'

export type Theme = 'system' | 'light' | 'dark'
const place = 'tieline.theme'
const themes: readonly Theme[] = ['system', 'light', 'dark']

export const readTheme = (): Theme => themes.find((theme) => theme === readText(place)) ?? 'system'

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(readTheme)
  return [
    theme,
    (next) => {
      writeText(place, next)
      applyTheme(next)
      setTheme(next)
    },
  ]
}
