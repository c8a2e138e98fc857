/** `tieline/opencode`: the plugin that connects OpenCode to a server, which it finds or starts. */
export { default, tielinePlugin, type TielinePluginOptions } from './plugin.ts'
export type {
  Answered as OpencodeAnswer,
  At as OpencodePath,
  Hooks,
  OpencodeClient,
  OpencodeEvent,
  OpencodeMessage,
  OpencodePart,
  OpencodeSession,
  OpencodeTool,
  PluginInput,
  Prompt as OpencodePrompt,
  ToolUseContext as OpencodeToolContext,
} from './opencode-api.ts'
