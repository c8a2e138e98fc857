/** What is said of an agent that is not there. */
import { agentUnknown, type Refusal } from '../../model/refusal.ts'
import type { Agents } from './ports.ts'

export const refuseAgent = (agents: Agents, name: string): Refusal =>
  agentUnknown(name, agents.names(), agents.untrusted?.())
