/** What `tieline doctor` checks, one function for each subject. */
import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeError } from '../../client/tieline-error.ts'
import { flagText, UsageError, type CommandInput } from '../command.ts'
import type { Finding } from '../commands/doctor.ts'
import { isPortFree } from '../reach/own-server.ts'
import { compareConfig, describeEmptied, findPlace, logFile, logState, type Place } from '../reach/place.ts'
import { findRunningServer, type RunningServer } from '../reach/reach.ts'
import { countNoun } from '../show/amounts.ts'
import { checkAgents, checkKeys, ok, problem, warning } from './doctor-agents.ts'
import { checkHooks } from './doctor-hooks.ts'
import { checkSandbox } from './doctor-sandbox.ts'
import { isOpenToOthers } from '../../trust/private-files.ts'
import { describeUnused } from '../../trust/describe-reach.ts'
import { chooseProcess, isInUse, mcpClients, type Surroundings } from './init-entries.ts'
import { planEntries } from './init-plan.ts'

type DoctorInput = Pick<CommandInput, 'flags' | 'env' | 'signal'>
type Running = RunningServer | null

export async function runChecks(input: DoctorInput, at: Surroundings): Promise<Finding[]> {
  const node = checkNode(process.versions.node)
  const place = await findPlace({ flags: input.flags, env: input.env }).catch((error: unknown) => {
    if (error instanceof UsageError) return error
    throw error
  })
  if (place instanceof UsageError) {
    const help =
      'docs/configuration.md has them all, and "tieline init --starter" writes a file to start from.'
    return [node, problem('configuration', place.message, `Correct these keys: ${help}`)]
  }
  const running = await findRunningServer(place)
  return [
    node,
    ...checkTrust(place),
    checkConfig(place, running),
    await checkLog(place, running),
    ...checkModes(place),
    await checkPort(place, running),
    ...checkKeys(place, input.env),
    ...(await checkAgents(place, input.env)),
    ...(await checkSandbox(place)),
    ...(await checkClients(input, at)),
    ...(await checkHooks(place, running, at)),
  ]
}

const nodeNeeded: readonly [number, number] = [24, 15]

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorMin, minorMin] = nodeNeeded
  return major > majorMin || (major === majorMin && minor >= minorMin)
    ? ok('node', version)
    : problem('node', `${version} is too old`, `Install Node ${nodeNeeded.join('.')} or newer.`)
}

/** A file that was found here and is not used. */
function checkTrust({ untrusted }: Place): Finding[] {
  if (untrusted === null) return []
  const todo =
    untrusted.problem === null
      ? 'Look at it, then run "tieline trust": it shows what the file could do, and asks.'
      : 'Correct it if it is yours, then run "tieline trust".'
  const mistakes = untrusted.problem === null ? [] : untrusted.problem.split('\n')
  return [warning('trust', [describeUnused(untrusted), ...mistakes].join('\n'), todo)]
}

function checkConfig(place: Place, running: Running): Finding {
  const { file, warnings, config } = place
  const what = 'configuration'
  const says =
    file === null
      ? 'no file: the defaults, and the offline demo agent'
      : `${file}, ${countNoun(config.agents.length, 'agent')}`
  if (warnings.length > 0) return warning(what, [says, ...warnings].join('\n'), 'Correct these keys.')
  const other = running === null ? null : compareConfig(place, running.file)
  if (other !== null) return warning(what, `${says}; ${other.says}`, other.todo)
  return file === null
    ? warning(what, says, 'Write a tieline.toml: "tieline init --starter" makes one.')
    : ok(what, says)
}

async function checkLog({ dataDir }: Place, running: Running): Promise<Finding> {
  if (running !== null) return checkServedLog(dataDir, running)
  switch (logState(dataDir)) {
    case 'emptied':
      return problem('log', `${dataDir}: the log is an empty file`, describeEmptied(dataDir))
    case 'none':
      return isWritable(dataDir)
        ? ok('log', `${dataDir}: nothing is recorded yet`)
        : problem(
            'log',
            `${dataDir} cannot be made or written to`,
            'Choose another directory with --data-dir, TIELINE_DATA_DIR or server.dataDir.',
          )
    case 'there':
      return openAndCheckLog(dataDir)
  }
}

/** A server closes its directory at the start, where the file system has modes. */
function checkModes({ dataDir }: Place): Finding[] {
  const open = [dataDir, logFile(dataDir)].filter(isOpenToOthers)
  if (open.length === 0) return []
  const todo = `Close it: chmod -R go= ${dataDir}. On a file system without permissions choose another directory.`
  return [warning('log', `other users of this machine can look into ${open.join(' and ')}`, todo)]
}

/** The server has the log open, so it knows whether it can write. */
function checkServedLog(dataDir: string, { client, health: { store } }: RunningServer): Finding {
  const says = `${dataDir}, in use by the server at ${client.url}`
  if (store === undefined || store.status === 'ok') {
    const { done, of } = store?.checking ?? { done: 0, of: 0 }
    const why = 'the last process did not end cleanly, so the file is being looked through'
    return ok('log', store?.checking === undefined ? says : `${says}; ${why} (${done} of ${of} tables)`)
  }
  const free =
    store.freeBytes === null ? '' : `; ${(store.freeBytes / 1_000_000).toFixed(1)} MB are free there`
  const why = store.reason ?? 'it does not say why'
  const todo = store.cure ?? 'Look at what the server wrote.'
  return problem('log', `${says}, which cannot record anything: ${why}${free}`, todo)
}

/** The directory, or the nearest one above it that exists. */
function isWritable(directory: string): boolean {
  if (!existsSync(directory)) return dirname(directory) !== directory && isWritable(dirname(directory))
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Opening takes the lock of the directory, and SQLite then looks through the file; no turn continues. */
async function openAndCheckLog(dataDir: string): Promise<Finding> {
  const { openLog } = await import('../../recorded-log.ts')
  try {
    const log = await openLog({ dataDir })
    const sessions = await log.sessions(1)
    await log.close()
    const { logCare } = await import('../../log-care.ts')
    const damage = logCare.findDamage(dataDir)
    if (damage !== null)
      return problem(
        'log',
        `${logFile(dataDir)} is damaged (${damage})`,
        'Run "tieline check" to see what of it.',
      )
    const none = sessions.length === 0 ? ', and has no sessions yet' : ''
    return ok('log', `${dataDir}: opens, is whole${none}, and nobody else uses it`)
  } catch (error) {
    return problem('log', describeError(error), 'Do what this says; nothing was changed.')
  }
}

async function checkPort({ config: { server } }: Place, running: Running): Promise<Finding> {
  if (running !== null) {
    const { version, uptimeSeconds } = running.health
    const says = `our server answers at ${running.client.url}, version ${version}, up for ${uptimeSeconds} s`
    return ok('port', says)
  }
  const at = `${server.host}:${server.port}`
  if (server.port === 0 || (await isPortFree(server))) return ok('port', `${at} is free`)
  return warning(
    'port',
    `${at} is taken by another program`,
    'Commands that need a server take another port; for "tieline serve" choose one with --port, ' +
      'TIELINE_PORT or server.port.',
  )
}

/** Entries of MCP clients that point to us, in this project and for this user. */
async function checkClients(input: DoctorInput, at: Surroundings): Promise<Finding[]> {
  const used = mcpClients.filter((client) => isInUse(client, at))
  if (used.length === 0) return [ok('clients', 'no MCP client is used here')]
  const way = chooseProcess(at, { node: process.execPath, script: process.argv[1] ?? '' })
  const [project, user] = await Promise.all([
    planEntries(used, at, 'project', way),
    planEntries(used, at, 'user', way),
  ])
  const flags = flagText(input.flags['config']) === undefined ? '' : ' --config FILE'
  return used.map(({ id, title }, index): Finding => {
    const plans = [project[index], user[index]]
    const doubled = plans.find((plan) => plan?.state === 'doubled')
    if (doubled !== undefined)
      return warning('clients', `${title}: ${doubled.why}`, 'Remove the MCP entry, or the plugin.')
    const found = plans.find((plan) => plan?.state === 'there' || plan?.state === 'other')
    if (found !== undefined)
      return ok(
        'clients',
        found.why.startsWith('it has our plugin')
          ? `${title}: ${found.why}`
          : `${title}: has an entry in ${found.file}`,
      )
    const unclear = plans.find((plan) => plan?.state === 'unclear')
    if (unclear === undefined)
      return ok('clients', `${title}: knows nothing of Tieline ("tieline init --client ${id}" adds it)`)
    const todo = `"tieline init --client ${id}${flags}" prints the entry to paste.`
    return warning('clients', `${title}: ${unclear.file} ${unclear.why}`, todo)
  })
}
