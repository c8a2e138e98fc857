/** What the browser shows outside of the page: the title and icon of the tab, and desktop notifications. */
import type { Need } from '../../../src/wire/needs.ts'

const plainTitle = 'Tieline'

/** The icon with a number on it; without one as it is. */
export const drawIcon = (count: number): string =>
  count === 0
    ? '/icon.svg'
    : `data:image/svg+xml,${encodeURIComponent(
        [
          '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">',
          '<rect width="32" height="32" rx="8" fill="#ad2218"/>',
          '<text x="16" y="23" font-family="sans-serif" font-size="20" font-weight="700"',
          ` fill="#fff" text-anchor="middle">${count > 99 ? '99' : count}</text></svg>`,
        ].join(''),
      )}`

export function showCount(count: number): void {
  document.title = count === 0 ? plainTitle : `(${count}) ${plainTitle}`
  document.querySelector('link[rel="icon"]')?.setAttribute('href', drawIcon(count))
}

const canNotify = (): boolean => 'Notification' in window
export const mayAskToNotify = (): boolean => canNotify() && Notification.permission === 'default'
export const askToNotify = async (): Promise<void> => {
  if (canNotify()) await Notification.requestPermission()
}

/** Those that were not there before; at the first look none is new. */
export const findNew = (before: readonly Need[] | null, now: readonly Need[]): Need[] =>
  before === null ? [] : now.filter(({ id }) => !before.some((known) => known.id === id))

/** Only while the person looks elsewhere, and only what the title says: the desktop may be seen by others. */
export function announce(before: readonly Need[] | null, now: readonly Need[]): void {
  if (!canNotify() || Notification.permission !== 'granted' || document.visibilityState === 'visible') return
  for (const need of findNew(before, now)) {
    const notification = new Notification(need.title, { tag: need.id })
    notification.onclick = () => {
      window.focus()
      location.hash = '#/now'
    }
  }
}
