/** A text field of what an agent sent; anything else is none. */
export const textAt = (from: Record<string, unknown>, name: string, otherwise = ''): string => {
  const value = from[name]
  return typeof value === 'string' ? value : otherwise
}
