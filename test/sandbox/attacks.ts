/** Attacks on the server, the network and sockets; and the table of all of them. */
import { call, fetched, gone, noFamily, perl, unix, type Attack } from './attack.ts'
import { files, kernel, processes } from './attacks-inside.ts'

const handshake =
  '--http1.1 -H "Connection: Upgrade" -H "Upgrade: websocket" -H "Sec-WebSocket-Version: 13" ' +
  '-H "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="'

const server: Attack[] = [
  {
    tried: 'ask the server without the token of the turn',
    command: fetched('$TIELINE_SERVER/api/sessions'),
    got: 'not_authenticated',
  },
  {
    tried: 'ask it for a shell of another agent, without the token',
    command: fetched('$TIELINE_SERVER/api/calls', `-d '{"agent":"other","task":"x"}'`),
    got: 'not_authenticated',
  },
  {
    tried: 'make an agent at the door of Letta, without the token',
    command: fetched('$TIELINE_SERVER/v1/agents', `-d '{"name":"mine"}'`),
    got: 'not_authenticated',
  },
  {
    tried: 'ask with a made-up token of another session',
    command: fetched('$TIELINE_SERVER/api/sessions', '-H "authorization: Bearer tls_ses_1.AAAA"'),
    got: 'not_authenticated',
  },
  {
    tried: "read another agent's session with the token of the turn",
    command: fetched(
      '$TIELINE_SERVER/api/sessions/$OTHER_SESSION/messages',
      '-H "authorization: Bearer $TIELINE_TOKEN"',
    ),
    got: 'not_allowed',
  },
  {
    tried: 'answer questions that only a person may answer',
    command: fetched('$TIELINE_SERVER/api/questions', '-H "authorization: Bearer $TIELINE_TOKEN"'),
    got: 'not_allowed',
  },
  {
    tried: 'follow all events over a WebSocket, without the token',
    command: fetched('$TIELINE_SERVER/ws', handshake),
    got: 'not_authenticated',
  },
  {
    tried: 'connect a program that runs turns',
    command: fetched('$TIELINE_SERVER/ws/host', handshake),
    got: 'not_authenticated',
  },
]

const network: Attack[] = [
  {
    tried: 'another server on loopback (OpenCode, a database)',
    command: `${fetched('http://127.0.0.1:$OTHER_PORT/', '--noproxy "*"')}`,
    got: 'onnect',
  },
  {
    tried: 'the same over IPv6',
    command: fetched('http://[::1]:$OTHER_PORT/', '--noproxy "*"'),
    got: 'onnect',
  },
  {
    tried: 'the same through the proxy',
    command: fetched('http://127.0.0.1:$OTHER_PORT/', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'the same by its name',
    command: fetched('http://localhost:$OTHER_PORT/', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'the same as a number',
    command: fetched('http://2130706433:$OTHER_PORT/', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'the same as an address of IPv6',
    command: fetched('http://[::ffff:127.0.0.1]:$OTHER_PORT/', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'the same as 0.0.0.0',
    command: fetched('http://0.0.0.0:$OTHER_PORT/', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'the same through a tunnel',
    command: fetched('http://127.0.0.1:$OTHER_PORT/', '--noproxy "" -p -x $HTTP_PROXY'),
    got: '403',
  },
  {
    tried: 'the keys of a cloud machine (169.254.169.254)',
    command: fetched('http://169.254.169.254/', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'the server itself through the proxy',
    command: fetched('$TIELINE_SERVER/api/sessions', '--noproxy "" -x $HTTP_PROXY'),
    got: 'does not reach',
  },
  {
    tried: 'an address of this machine, without the proxy',
    command: perl(
      'socket(my $s, PF_INET, SOCK_STREAM, 0); ' +
        'connect($s, sockaddr_in($ENV{OTHER_PORT}, inet_aton($ENV{OWN_ADDRESS}))) or die "$!\\n"; ' +
        'print "ESCAPED\\n"',
    ),
    got: 'unreachable',
  },
]

const sockets: Attack[] = [
  { tried: 'a Unix socket in the home directory', command: unix('$ENV{HOME}/app.sock'), got: noFamily },
  {
    tried: 'a Unix socket of another program in the session’s directory',
    command: unix('$ENV{PROJECT}/dev.sock'),
    got: noFamily,
  },
  { tried: 'an abstract socket', command: unix('\\0$ENV{ABSTRACT}'), got: noFamily },
  { tried: 'the socket of Codex', command: unix('$ENV{HOME}/.codex/app.sock'), got: noFamily },
  {
    tried: 'the socket of Docker',
    command: `curl -sS --unix-socket /var/run/docker.sock http://d/info 2>&1; ls /run/docker.sock`,
    got: gone,
  },
  {
    tried: 'the agent of ssh',
    command: 'ssh-add -l 2>&1; echo "socket: ${SSH_AUTH_SOCK:-none}"',
    got: 'socket: none',
  },
  { tried: 'D-Bus', command: 'echo "bus: ${DBUS_SESSION_BUS_ADDRESS:-none}"; ls /run/dbus', got: gone },
  { tried: 'the inner door itself, past the filter', command: unix('/run/tieline/door'), got: noFamily },
  {
    tried: 'a socket to the machine below (vsock)',
    command: perl('socket(my $s, 40, SOCK_STREAM, 0) or die "$!\\n"; print "ESCAPED\\n"'),
    got: noFamily,
  },
  { tried: 'sockets by io_uring', command: call('425'), got: 'not implemented' },
]

export const attacks: Readonly<Record<string, readonly Attack[]>> = {
  'the server': server,
  'the network': network,
  sockets,
  processes,
  files,
  'the kernel': kernel,
}

/** The table of docs/security.md. */
export const renderAttacks = (): string =>
  [
    '| against | tried | got |',
    '| --- | --- | --- |',
    ...Object.entries(attacks).flatMap(([against, all]) =>
      all.map(({ tried, got }) => `| ${against} | ${tried} | ${words[got] ?? got} |`),
    ),
  ].join('\n')

const words: Readonly<Record<string, string>> = {
  onnect: 'connection refused',
  looked: 'nothing is there',
  'only its own': 'reaches only its own processes',
  started: 'ended with the command',
  'still here': 'no effect',
  tried: 'written to an empty place that is gone afterwards',
  private: 'a file that nobody else sees, gone afterwards',
  '1': 'no new privileges',
  '0000000000000000': 'none',
  unreachable: 'network is unreachable',
  'ermission denied': 'permission denied',
  // As root it says "permission denied", otherwise "must be superuser".
  'mount: /': 'permission denied',
  'o such process': 'no such process',
  'cross-device': 'invalid cross-device link',
  unshare: 'refused by the kernel',
  '403': 'refused by the proxy (403)',
  'does not reach': 'refused by the proxy (403)',
}
