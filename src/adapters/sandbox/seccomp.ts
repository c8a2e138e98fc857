/**
 * A filter for system calls, as the kernel reads it (classic BPF). A read-only view of the disk still has the
 * Unix sockets of other programs on it, and connecting to one is no write. So programs in a sandbox have no
 * Unix sockets at all, but pairs of them, and nothing by which they could come to one: io_uring, 32-bit calls,
 * machine sockets. Key rings, BPF and performance counters are not divided by namespaces.
 */
const [load, jumpEqual, jumpAtLeast, answer] = [0x20, 0x15, 0x35, 0x06]
const allow = 0x7fff_0000
const refuse = (errno: number): number => 0x0005_0000 | errno
const [notThere, familyUnknown] = [refuse(38), refuse(97)]
const [numberAt, archAt, firstArgumentAt] = [0, 4, 16]
/** IPv4, IPv6, and netlink, which lists the sandbox's own interfaces. */
const families = [2, 10, 16]
const ioUringSetup = 425

type Calls = { arch: number; prctl: number; socket: number; absent: readonly number[] }

/** keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd: numbers differ between machines. */
const calls: Readonly<Record<string, Calls>> = {
  x64: { arch: 0xc000_003e, prctl: 157, socket: 41, absent: [250, 248, 249, 321, 298, 323] },
  arm64: { arch: 0xc000_00b7, prctl: 167, socket: 198, absent: [219, 217, 218, 280, 241, 282] },
}

/** The filter in hexadecimal and the number of the call that sets it; null for a machine that is not known. */
export function describeFilter(machine: string): { prctl: number; program: string } | null {
  const known = calls[machine]
  if (known === undefined) return null
  const steps = [
    [load, 0, 0, archAt],
    [jumpEqual, 1, 0, known.arch],
    [answer, 0, 0, notThere],
    [load, 0, 0, numberAt],
    // The x32 calls of the same machine.
    [jumpAtLeast, 0, 1, 0x4000_0000],
    [answer, 0, 0, notThere],
    ...[ioUringSetup, ...known.absent].flatMap((number) => [
      [jumpEqual, 0, 1, number],
      [answer, 0, 0, notThere],
    ]),
    [jumpEqual, 1, 0, known.socket],
    [answer, 0, 0, allow],
    [load, 0, 0, firstArgumentAt],
    ...families.flatMap((family) => [
      [jumpEqual, 0, 1, family],
      [answer, 0, 0, allow],
    ]),
    [answer, 0, 0, familyUnknown],
  ]
  const program = Buffer.concat(
    steps.map(([code = 0, yes = 0, no = 0, value = 0]) => encode(code, yes, no, value)),
  )
  return { prctl: known.prctl, program: program.toString('hex') }
}

function encode(code: number, yes: number, no: number, value: number): Buffer {
  const step = Buffer.alloc(8)
  step.writeUInt16LE(code, 0)
  step.writeUInt8(yes, 2)
  step.writeUInt8(no, 3)
  step.writeUInt32LE(value >>> 0, 4)
  return step
}
