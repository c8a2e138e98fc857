/** Starts the page. */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { takeToken } from './browser-storage.ts'
import { openLive } from './live/live.ts'
import { LiveContext } from './live/use-live.ts'
import { applyTheme, readTheme } from './theme.ts'
import './style/page.css'

applyTheme(readTheme())
const live = openLive(location.origin, takeToken())
createRoot(document.querySelector('#page') as Element).render(
  <StrictMode>
    <LiveContext value={live}>
      <App />
    </LiveContext>
  </StrictMode>,
)
