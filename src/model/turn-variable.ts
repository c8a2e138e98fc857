/**
 * What a turn starts (a shell, an MCP server, an agent that we drive) finds the token of its turn in this
 * variable, and the address of the server in the other. The command line and the client read them.
 */
export const turnVariable = 'TIELINE_TOKEN'
export const serverVariable = 'TIELINE_SERVER'

/** Whether a token speaks for a session or a turn, by its shape alone. */
export const isCapability = (token: string): boolean => token.startsWith('tls_') || token.startsWith('tlt_')
