/** Events about agents, sessions and notices. */
import { userSession } from './fold-mail.ts'
import { ensureSession, nameAgent } from './ledger.ts'
import { addBounded, type Folds } from './moment.ts'

export const sessionFolds: Folds = {
  'agent.created'(ledger, event, _moment, touch) {
    ledger.agentNames.set(event.agent, event.definition.title)
    touch('agents')
  },
  'agent.deleted': (_ledger, _event, _moment, touch) => touch('agents'),
  'session.created'(ledger, event, { at }, touch) {
    const session = ensureSession(ledger, event.session, at)
    Object.assign(session, {
      agent: event.agent,
      agentName: nameAgent(ledger, event.agent),
      kind: event.kind,
      cwd: event.cwd,
      createdAt: at,
    })
    if (session.parent === null) session.parent = event.parent
    if (session.title === '') session.title = event.title
    session.model ??= event.model
    touch('sessions')
  },
  'session.adopted'(ledger, event, { at, isNew }, touch) {
    if (isNew)
      Object.assign(ensureSession(ledger, event.session, at), { parent: event.parent, orphan: false })
    touch('sessions')
  },
  'session.renamed'(ledger, event, { at, isNew }, touch) {
    const session = ensureSession(ledger, event.session, at)
    if (isNew || !session.isListed) session.title = event.title
    touch('sessions')
  },
  'session.archived'(ledger, event, { at, isNew }, touch) {
    const session = ensureSession(ledger, event.session, at)
    // An older event is already part of the list.
    if (isNew || !session.isListed) session.archived = true
    if (isNew)
      for (const child of ledger.sessions.values())
        if (child.parent === session.id && !child.archived) child.orphan = true
    touch('sessions')
  },
  'session.forked'(ledger, event, { at }) {
    ensureSession(ledger, event.session, at).forkedFrom = event.from
  },
  'session.opened'(ledger, event, { at, isNew }, touch) {
    const session = ensureSession(ledger, event.session, at)
    if (isNew || !session.isListed) session.presence = 'idle'
    touch('sessions')
  },
  'session.closed'(ledger, event, { at, isNew }, touch) {
    const session = ensureSession(ledger, event.session, at)
    if (isNew || !session.isListed) Object.assign(session, { presence: 'closed', wakeable: false })
    touch('sessions')
  },
  'session.quieted'(ledger, event, { at, isNew }, touch) {
    if (event.session === userSession) {
      if (isNew) ledger.quietUntil = event.until
    } else {
      const session = ensureSession(ledger, event.session, at)
      if (isNew || !session.isListed) session.quietUntil = event.until === 0 ? null : event.until
    }
    touch('quiet')
    touch('sessions')
  },
  'notice.raised'(ledger, event, { seq, at }, touch) {
    addBounded(ledger.notices, { seq, at, session: event.session, about: event.about, text: event.text })
    touch('notices')
  },
}
