/**
 * Asks the kernel for one TCP socket by its two ends (sock_diag, a netlink protocol). The tables in /proc have
 * the same, but the kernel walks through its whole hash table to print them, which takes 10 ms and more. Node
 * has no netlink, so a small Perl process asks; where there is none, the tables are read.
 */
import { spawn } from 'node:child_process'
import { isIPv6 } from 'node:net'
import { boundedLines } from '../model/bounded-lines.ts'
import { listen } from '../model/contained.ts'
import { wakeLater } from '../runtime/kernel/system-clock.ts'
import type { PeerEnds, PeerSocket } from './peer-search.ts'

/** One line for each question: family, then address and port of either end. It first tries itself. */
const program = String.raw`
use strict; use Socket;
$| = 1;
socket(my $netlink, 16, SOCK_RAW, 4) or exit 1;
sub find {
  my ($family, $source, $sourcePort, $target, $targetPort) = @_;
  my $id = pack('n2 a16 a16 L3', $sourcePort, $targetPort, $source, $target, 0, 0xffffffff, 0xffffffff);
  my $request = pack('C4 L', $family, 6, 0, 0, 0xffffffff) . $id;
  send($netlink, pack('L S2 L2', 16 + length $request, 20, 1, 1, 0) . $request, 0) or exit 1;
  defined recv($netlink, my $answer, 8192, 0) or exit 1;
  return '-' if length $answer < 88 || (unpack 'L S', $answer)[1] != 20;
  my ($port, $otherPort) = unpack 'n2', substr $answer, 20;
  return '-' if $port != $sourcePort || $otherPort != $targetPort;
  return join ' ', unpack 'L2', substr $answer, 80;
}
socket(my $server, PF_INET, SOCK_STREAM, 0) or exit 1;
bind($server, sockaddr_in(0, INADDR_LOOPBACK)) && listen($server, 1) or exit 1;
socket(my $client, PF_INET, SOCK_STREAM, 0) or exit 1;
my ($serverPort) = sockaddr_in(getsockname $server);
connect($client, sockaddr_in($serverPort, INADDR_LOOPBACK)) or exit 1;
my ($clientPort) = sockaddr_in(getsockname $client);
exit 1 if find(2, INADDR_LOOPBACK, $clientPort, INADDR_LOOPBACK, $serverPort) eq '-';
close $client; close $server;
print "ready\n";
while (my $line = <STDIN>) {
  my ($family, $source, $sourcePort, $target, $targetPort) = split ' ', $line;
  my ($kind, $domain) = $family == 6 ? (AF_INET6, 10) : (AF_INET, 2);
  my @ends = map { Socket::inet_pton($kind, $_) } $source, $target;
  print find($domain, $ends[0], $sourcePort, $ends[1], $targetPort), "\n";
}
`

const perl = ['/usr/bin/perl', '-e', program]
const lineBytesMax = 200
/** It answers in microseconds. Where it doesn't, connections must not wait for it: the tables are read. */
const answerMsMax = 1000

export type PeerSockets = {
  /** Null where the tables must be read. An end that is not there has no socket. */
  find(asked: readonly PeerEnds[]): Promise<(PeerSocket | null)[] | null>
}

/** Starts at once, ends with this process, and never keeps it alive. `command` is another helper, for tests. */
export function startPeerSockets([helper = '', ...args]: readonly string[] = perl): PeerSockets {
  const waiting: ((line: string | null) => void)[] = []
  const ready = Promise.withResolvers<boolean>()
  let ended = false
  const child = spawn(helper, args, { stdio: ['pipe', 'pipe', 'ignore'], env: {} })
  const end = (): void => {
    ended = true
    ready.resolve(false)
    for (const settle of waiting.splice(0)) settle(null)
    child.kill('SIGKILL')
  }
  const read = boundedLines(lineBytesMax, (line) => {
    if (line === 'ready') ready.resolve(true)
    else waiting.shift()?.(line)
  })
  listen(child, 'error', end, end)
  listen(child, 'exit', end, end)
  for (const pipe of [child.stdin, child.stdout]) {
    listen(pipe, 'error', end, end)
    ;(pipe as { unref?: () => void }).unref?.()
  }
  listen(child.stdout, 'data', end, read)
  child.unref()
  const ask = (ends: PeerEnds): Promise<string | null> =>
    new Promise((settle) => {
      waiting.push(settle)
      child.stdin.write(`${writeQuestion(ends)}\n`)
    })
  return {
    async find(asked) {
      const stopWaiting = wakeLater(answerMsMax, end)
      try {
        if (!(await ready.promise) || ended) return null
        const lines = await Promise.all(asked.map(ask))
        return lines.includes(null) ? null : lines.map((line) => parseSocket(line ?? ''))
      } finally {
        stopWaiting()
      }
    },
  }
}

function writeQuestion({ address, port, serverAddress, serverPort }: PeerEnds): string {
  const [peer, server] = [address, serverAddress].map((one) => one.replace(/^::ffff:(?=[\d.]+$)/, ''))
  return [isIPv6(peer ?? '') ? 6 : 4, peer, port, server, serverPort].join(' ')
}

function parseSocket(line: string): PeerSocket | null {
  const [uid, inode] = line.split(' ').map(Number)
  return uid === undefined || inode === undefined ? null : { uid, inode }
}
