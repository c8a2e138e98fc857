/** The version of this package, as it tells others. A test holds it equal to package.json. */
export const version = '0.1.0'
