/** A table that is asked by names from outside: `constructor` and the like are in it only if they were put there. */
export const table = <T>(rows: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.assign(Object.create(null) as Record<string, T>, rows)
