/**
 * fast-check, with fewer runs and without shrinking: thousands of mutants meet each property. A mutant that
 * only many more runs would notice counts as alive.
 */
import fc from 'fast-check'

const runsMax = 25

/** Of its overloads the one that takes every kind of property. */
type Given = Parameters<typeof fc.assert>

const assert = (...[property, given = {}]: Given): ReturnType<typeof fc.assert> =>
  fc.assert(property, {
    ...given,
    numRuns: Math.min(given.numRuns ?? runsMax, runsMax),
    endOnFailure: true,
    seed: given.seed ?? 1,
  })

export default { ...fc, assert }
