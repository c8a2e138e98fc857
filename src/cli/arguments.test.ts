import { describe, expect, test } from 'vitest'
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { commands } from './commands.ts'
import { renderHelp } from './help.ts'

const mistake = (...args: string[]): string => {
  const asked = readArguments(args, commands)
  return asked.kind === 'mistake' ? asked.text : `no mistake, but ${asked.kind}`
}

describe('a command line', () => {
  test('gives the command its words and its flags, wherever they stand', () => {
    for (const args of [
      ['run', 'do it', '--agent', 'coder', '--json'],
      ['--json', '--agent=coder', 'run', 'do it'],
    ]) {
      expect(readArguments(args, commands)).toMatchObject({
        kind: 'run',
        words: ['do it'],
        flags: { agent: 'coder', json: true },
      })
    }
  })

  test('takes everything after -- as it is', () =>
    expect(readArguments(['run', '--', '--help'], commands)).toMatchObject({
      kind: 'run',
      words: ['--help'],
    }))

  test('without a command is the help, as is --help anywhere', () => {
    expect(readArguments([], commands)).toEqual({ kind: 'help', command: null })
    expect(readArguments(['-h'], commands)).toEqual({ kind: 'help', command: null })
    expect(readArguments(['demo', '--help'], commands)).toMatchObject({
      kind: 'help',
      command: { name: 'demo' },
    })
    expect(readArguments(['help', 'run'], commands)).toMatchObject({ kind: 'help', command: { name: 'run' } })
    expect(readArguments(['--version'], commands)).toEqual({ kind: 'version' })
  })
})

describe('a mistake says what would have been right', () => {
  test.each([
    [['demmo'], 'unknown command "demmo"; the nearest known one is "demo".'],
    [
      ['frobnicate'],
      `unknown command "frobnicate"; the known ones are ${commands.map((command) => command.name).join(', ')}.`,
    ],
    [['run', 'x', '--agnet', 'y'], 'unknown flag --agnet of run; the nearest known one is "--agent".'],
    [
      ['demo', '--constructor'],
      'unknown flag --constructor of demo; the known ones are --json, --quiet, --help, --version.',
    ],
    [
      ['demo', '--agent', 'y'],
      'unknown flag --agent of demo; the known ones are --json, --quiet, --help, --version.',
    ],
    [['run', 'x', '--agent'], '--agent needs a value: --agent NAME.'],
    [['run', 'x', '--agent', '--json'], '--agent needs a value: --agent NAME.'],
    [['run', 'x', '--json=yes'], '--json takes no value.'],
    [['run'], 'run needs "<task>".'],
    [
      ['run', 'two', 'words'],
      '"words" is one word too many for run; put quotes around a text of several words.',
    ],
    [['demo', 'x'], '"x" is one word too many for demo.'],
    [['chat', 'coder'], '"coder" is one word too many for chat; an agent is named with --agent coder.'],
    [
      ['demo', '--server', 'http://x'],
      '--server means nothing to demo: the demo has a server, a configuration and a directory of its own.',
    ],
    [['sessions', '--limit', '--json'], '--limit needs a value: --limit COUNT.'],
  ])('%j', (args, text) => expect(mistake(...args)).toBe(text))
})

test('a number below zero is a value, so that its own message can say what is wrong with it', () => {
  expect(readArguments(['run', 'x', '--timeout', '-5'], commands)).toMatchObject({
    kind: 'run',
    flags: { timeout: '-5' },
  })
})

test('global flags are taken by every command, before it or after it', () => {
  for (const command of commands) {
    const words = command.words.filter((word) => !word.startsWith('['))
    const global =
      command.without === undefined
        ? ['--config', 'c', '--data-dir', 'd', '--server', 's', '--json', '--quiet']
        : ['--json', '--quiet']
    expect(readArguments([...global, command.name, ...words], commands)).toMatchObject({
      kind: 'run',
      flags: { json: true, quiet: true },
    })
    expect(readArguments([command.name, ...words, ...global], commands)).toMatchObject({
      kind: 'run',
      flags: { json: true, quiet: true },
    })
  }
})

test('the help of every command has an example of it', () => {
  expect(
    commands
      .filter(({ name, examples }) => !examples.some((line) => line.includes(`tieline ${name}`)))
      .map(({ name }) => name),
  ).toEqual([])
})

test('the help names every command and every flag', () => {
  expect(commands.filter((command) => !renderHelp(commands, null).includes(`  ${command.name} `))).toEqual([])
  for (const command of commands)
    expect(
      Object.keys(command.flags).filter((flag) => !renderHelp(commands, command).includes(`--${flag} `)),
    ).toEqual([])
})

test('a flag takes a value in all commands or in none', () => {
  const kinds = (flag: string, among: readonly Command[]): Set<boolean> =>
    new Set(
      among.flatMap((command) =>
        command.flags[flag] === undefined ? [] : [command.flags[flag].value !== undefined],
      ),
    )
  expect(
    commands
      .flatMap((command) => Object.keys(command.flags))
      .filter((flag) => kinds(flag, commands).size > 1),
  ).toEqual([])
})

test('version is a word too', () => expect(readArguments(['version'], [])).toEqual({ kind: 'version' }))
