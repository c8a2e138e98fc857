/**
 * The first program in a sandbox on Linux. It listens on a loopback port of the sandbox's own network and passes
 * what comes there to the inner door, a Unix socket of the server. Then it sets the filter for system calls, and
 * becomes the command. It is Perl, because Node would take longer to start than most commands run. It loads no
 * module for the same reason, so numbers stand in place of names: 2 is IPv4, 1 a Unix socket and a stream.
 */
import { describeFilter } from './seccomp.ts'

const program = String.raw`
my ($port, $path, $prctl, $filter, @command) = @ARGV;
socket(my $server, 2, 1, 0);
setsockopt $server, 1, 2, 1;
if ($path ne '' && bind($server, pack 'S n C4 x8', 2, $port, 127, 0, 0, 1) && listen($server, 128)) {
  if (!fork) {
    exit if fork;
    $SIG{CHLD} = 'IGNORE';
    open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
    while (1) {
      accept(my $client, $server) or next;
      next if fork;
      close $server;
      socket(my $door, 1, 1, 0) or exit;
      connect($door, pack 'S a108', 1, $path) or exit;
      my ($from, $to) = fork ? ($client, $door) : ($door, $client);
      while (sysread $from, my $bytes, 65536) {
        while (length $bytes) { my $sent = syswrite($to, $bytes) // exit; substr($bytes, 0, $sent) = '' }
      }
      shutdown $to, 1;
      exit;
    }
  }
  wait;
}
close $server;
my $steps = pack 'H*', $filter;
my $described = pack 'S x6 P', length($steps) / 8, $steps;
syscall(0 + $prctl, 22, 2, $described, 0, 0) == 0 or die "the filter for system calls was not set: $!\n";
exec { $command[0] } @command or die "$command[0]: $!\n";
`

/** What runs a command behind the usher; null on a machine whose system calls are not known. */
export function usherArguments(perl: string, port: number, door: string): string[] | null {
  const filter = describeFilter(process.arch)
  return filter === null
    ? null
    : [perl, '-e', program, String(port), door, String(filter.prctl), filter.program]
}
