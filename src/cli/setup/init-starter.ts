/** A configuration to start from: two agents, one of which may call the other. */
export const starterConfig = `# Tieline reads this file in the directory that it is started in.

# A server on this machine that speaks OpenAI's protocol, such as Ollama or llama.cpp.
# Where ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY is set, the providers
# "anthropic", "openai" and "google" are there without a section.
[providers.local]
kind = "openai-compatible"
baseURL = "http://127.0.0.1:11434/v1"

[agents.planner]
description = "Breaks work down and hands the parts on"
prompt = """
You plan. Give each part that another agent can do to it, with everything that it needs to know,
and put the answers together."""
model = "local/qwen3"              # provider/model
tools = ["read", "list", "sub_agent"]
allowSubAgentCalls = true
mayCall = ["reader"]

[agents.reader]
description = "Answers questions about the files of this project"
prompt = "You read files and answer briefly. Name the files that you looked at."
model = "local/qwen3"
tools = ["read", "list", "search"]
`
