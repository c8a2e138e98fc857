/**
 * What an agent tries that wants out of its sandbox, and what it gets. Each is a command for `shell`; one that
 * gets somewhere prints ESCAPED. The variables are set by the test: where things are outside.
 */
export type Attack = {
  tried: string
  command: string
  /** A part of what the command prints. */
  got: string
}

export const perl = (text: string): string => `perl -MSocket -e '${text}'`
export const unix = (path: string): string =>
  perl(
    `socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die "$!\\n"; ` +
      `connect($s, pack_sockaddr_un("${path}")) or die "$!\\n"; print "ESCAPED\\n"`,
  )
export const call = (number: string): string =>
  perl(`syscall(${number}, 0, 0, 0, 0, 0) == -1 and die "$!\\n"; print "ESCAPED\\n"`)
export const write = (path: string): string => `echo planted >> ${path} && echo ESCAPED`
export const show = (path: string): string => `cat ${path} && echo ESCAPED`
export const fetched = (url: string, more = ''): string => `curl -sS -m 5 ${more} ${url} 2>&1`

export const ro = 'Read-only file system'
export const gone = 'No such file or directory'
export const noFamily = 'Address family not supported'
