/** Attacks on processes, files and the kernel: see attacks.ts. */
import { call, gone, perl, ro, show, write, type Attack } from './attack.ts'

export const processes: Attack[] = [
  {
    tried: 'keys of the server in /proc/$PPID/environ',
    command: 'grep -a sk-in-the-server /proc/$PPID/environ && echo ESCAPED; echo looked',
    got: 'looked',
  },
  { tried: "the server's /proc", command: show('/proc/$SERVER_PID/environ'), got: gone },
  { tried: "the server's memory", command: show('/proc/$SERVER_PID/mem'), got: gone },
  {
    tried: 'the disk through the root of process 1',
    command: 'cat /proc/1/root$DATA_DIR/token && echo ESCAPED',
    got: gone,
  },
  {
    tried: 'ptrace of the server',
    command: perl('syscall(101, 16, 0 + $ENV{SERVER_PID}, 0, 0) == -1 and die "$!\\n"; print "ESCAPED\\n"'),
    got: 'o such process',
  },
  { tried: 'end the server', command: 'kill -9 $SERVER_PID && echo ESCAPED', got: 'o such process' },
  { tried: 'a signal to its own parent', command: 'kill -9 $PPID; echo "still here"', got: 'still here' },
  {
    tried: 'a signal to everybody',
    command: perl('kill 0, -1; print "only its own\\n"'),
    got: 'only its own',
  },
  {
    tried: 'a process that outlives it (setsid)',
    command: 'setsid sleep 3333 & sleep 0.05; echo started',
    got: 'started',
  },
  {
    tried: 'a daemon (two forks, no terminal)',
    command: perl('exit if fork; exec "sleep", "3333" if !fork;') + '; echo started',
    got: 'started',
  },
  {
    tried: 'enter the namespaces of process 1',
    command: 'nsenter -t 1 -m -p true && echo ESCAPED',
    got: 'not permitted',
  },
  {
    tried: 'a crowd of processes',
    command: 'for i in $(seq 200); do sleep 3333 & done; echo started',
    got: 'started',
  },
  {
    tried: 'descriptors that were left open',
    command:
      'for f in /proc/self/fd/*; do case $(readlink $f) in /proc/*|pipe:*|socket:*|/dev/null) ;; ' +
      '*) readlink $f && echo ESCAPED;; esac; done; echo looked',
    got: 'looked',
  },
]

export const files: Attack[] = [
  { tried: 'the token file', command: show('$DATA_DIR/token'), got: gone },
  { tried: 'the secret that signs tokens', command: show('$DATA_DIR/secret'), got: gone },
  { tried: 'the log', command: show('$DATA_DIR/tieline.db'), got: gone },
  {
    tried: 'the data directory',
    command: 'ls -A $DATA_DIR | grep . && echo ESCAPED; echo empty',
    got: 'empty',
  },
  {
    tried: 'change the configuration of Tieline',
    command: write('$HOME/.config/tieline/tieline.toml'),
    got: ro,
  },
  {
    tried: 'trust a configuration',
    command: 'mkdir -p $HOME/.config/tieline/trusted/x && echo ESCAPED',
    got: ro,
  },
  { tried: "the user's .bashrc", command: write('$HOME/.bashrc'), got: ro },
  { tried: "the user's keys of ssh", command: show('$HOME/.ssh/id_ed25519'), got: gone },
  {
    tried: 'a key of its own for ssh',
    command: 'echo k >> $HOME/.ssh/authorized_keys; echo tried',
    got: 'tried',
  },
  { tried: 'the login of Codex', command: show('$HOME/.codex/auth.json'), got: gone },
  {
    tried: "a hook in the user's other repository",
    command: write('$HOME/other/.git/hooks/pre-commit'),
    got: ro,
  },
  { tried: "a file in another agent's directory", command: write('$HOME/other/file'), got: ro },
  {
    tried: 'hooks for all repositories',
    command: 'git config --global core.hooksPath /tmp && echo ESCAPED',
    got: ro,
  },
  { tried: 'a program in a directory of PATH', command: write('$HOME/.local/bin/git'), got: ro },
  { tried: 'a program for everybody', command: write('/usr/local/bin/git'), got: ro },
  { tried: "the user's package cache", command: write('$HOME/.npm/planted'), got: ro },
  { tried: 'a library for every program (ld.so.preload)', command: write('/etc/ld.so.preload'), got: ro },
  {
    tried: 'LD_PRELOAD of a program outside',
    command: 'LD_PRELOAD=./evil.so kill -0 $SERVER_PID 2>&1',
    got: 'o such process',
  },
  {
    tried: 'a job for cron',
    command: 'mkdir -p /var/spool/cron/crontabs; echo x >> /etc/crontab && echo ESCAPED',
    got: ro,
  },
  { tried: 'a unit of systemd', command: 'mkdir -p $HOME/.config/systemd/user && echo ESCAPED', got: ro },
  {
    tried: 'a symbolic link out of the directory, to write',
    command: 'ln -sf $HOME/.bashrc link; echo planted >> link && echo ESCAPED',
    got: ro,
  },
  {
    tried: 'a hard link to a file outside',
    command: 'ln $HOME/other/file hard && echo ESCAPED',
    got: 'cross-device',
  },
  {
    tried: 'rename a file outside into the directory',
    command: 'mv $HOME/other/file . 2>&1; ls $HOME/other/file',
    got: ro,
  },
  { tried: 'leave a file in /tmp', command: 'touch /tmp/tieline-planted; echo private', got: 'private' },
  {
    tried: 'shared memory of others',
    command: 'touch /dev/shm/tieline-planted; echo private',
    got: 'private',
  },
  {
    tried: 'passwords of the system',
    command: 'grep . /etc/shadow && echo ESCAPED; echo nothing',
    got: 'nothing',
  },
]

export const kernel: Attack[] = [
  { tried: 'mount', command: 'mount -t tmpfs none /mnt && echo ESCAPED', got: 'mount: /' },
  {
    tried: 'make the disk writable again',
    command: 'mount -o remount,rw / && echo ESCAPED',
    got: 'mount: /',
  },
  {
    tried: 'take away what hides the data directory',
    command: 'umount $DATA_DIR && echo ESCAPED',
    got: 'must be superuser',
  },
  { tried: 'a user namespace of its own', command: 'unshare -Ur true && echo ESCAPED', got: 'unshare' },
  { tried: 'chroot', command: 'chroot / true && echo ESCAPED', got: 'not permitted' },
  { tried: 'a device of its own', command: 'mknod disk b 8 0 && echo ESCAPED', got: 'not permitted' },
  {
    tried: 'devices of the machine',
    command: 'ls /dev/sda /dev/vda /dev/mem /dev/kmsg 2>&1 | grep -v "No such" && echo ESCAPED; echo none',
    got: 'none',
  },
  {
    tried: 'the program for core dumps',
    command:
      'was=$(cat /proc/sys/kernel/core_pattern); echo "$was" > /proc/sys/kernel/core_pattern && echo ESCAPED',
    got: ro,
  },
  {
    tried: 'other settings of the kernel',
    command: 'was=$(cat /proc/sys/vm/swappiness); echo "$was" > /proc/sys/vm/swappiness && echo ESCAPED',
    got: ro,
  },
  {
    tried: 'sysrq',
    command: 'echo h > /proc/sysrq-trigger && echo ESCAPED; echo "no effect"',
    got: 'no effect',
  },
  { tried: 'key rings of the kernel', command: call('250'), got: 'not implemented' },
  { tried: 'BPF', command: call('321'), got: 'not implemented' },
  {
    tried: 'the tables of the machine in /sys',
    command: 'ls -A /sys | grep . && echo ESCAPED; echo empty',
    got: 'empty',
  },
  { tried: 'become another user (setuid programs)', command: 'grep NoNewPrivs /proc/self/status', got: '1' },
  { tried: 'capabilities', command: 'grep CapEff /proc/self/status', got: '0000000000000000' },
]
