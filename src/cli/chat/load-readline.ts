/** Loaded when something is typed: most commands never ask, and it would take a part of their start. */
export const loadReadline = (): typeof import('node:readline') => process.getBuiltinModule('node:readline')
