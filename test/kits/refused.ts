/** A refusal over HTTP in one line, and a socket without a client. */
import { connect } from 'node:net'
import { type Answer } from './http.ts'

export const readRefusal = (answer: Pick<Answer, 'status' | 'body'>): [number, string] => [
  answer.status,
  answer.body?.error?.code,
]

export const talkTo = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
