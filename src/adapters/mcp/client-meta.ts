/**
 * What `tieline mcp` adds to the `_meta` of a request, since a process knows more about its client than a
 * request says.
 */
export const clientMetaKey = 'tieline/client'

export type ClientMeta = { name?: string | undefined; session?: string | undefined; cwd?: string | undefined }

/**
 * Where a client puts its own key for a request: the same key again, also after a crash of the server, is the
 * same act with the same answer.
 */
export const keyMetaKey = 'tieline/idempotency-key'
