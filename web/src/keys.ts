/** Keyboard shortcuts. Single letters can be switched off, for people who use speech input. */
import { useEffect, useRef } from 'react'
import { readText, writeText } from './browser-storage.ts'

const place = 'tieline.keys'
export const lettersOn = (): boolean => readText(place) !== 'off'
export const setLetters = (on: boolean): void => writeText(place, on ? 'on' : 'off')

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>

/** A field of a dialog that has just been closed keeps the focus until the page is drawn again. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)) &&
  target.closest('dialog:not([open])') === null

/**
 * Runs the action of a key, unless a field has the focus or a dialog is open. Escape works in fields too.
 * What a key before it has changed counts where the keys are asked for when one is pressed: who types two at once is
 * faster than the page is drawn.
 */
export function useKeys(keys: Keys | (() => Keys)): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (
        event.defaultPrevented ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        document.querySelector('dialog[open]') !== null
      )
        return
      const isLetter = event.key.length === 1
      if (isField(event.target) && (isLetter || event.key !== 'Escape')) return
      if (isLetter && !lettersOn()) return
      const known = typeof latest.current === 'function' ? latest.current() : latest.current
      const act = known[event.key]
      if (act === undefined) return
      event.preventDefault()
      act(event)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}

/** Moves the focus to the next or the previous element that matches the selector. */
export function moveFocus(selector: string, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)]
  const at = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement))
  const next =
    all[at === -1 ? (by === 1 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
