/** What `tieline mcp` adds to the `_meta` of a request, since a process knows more about its client than a request says. */
export const clientMetaKey = 'tieline/client'

export type ClientMeta = { name?: string | undefined; session?: string | undefined; cwd?: string | undefined }
