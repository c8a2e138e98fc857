/**
 * The hooks that tell Claude Code of its mail, as `tieline up` writes them into the user's `settings.json`, and the
 * script that they run.
 *
 * H1: where no server runs, a hook costs one look into a file. A server that hangs costs a second, once in a
 * session: the script remembers it. What waits in the background forgets it when the server answers again, so that
 * one slow answer does not make a session deaf.
 * H2: what waits to start a resting session runs in the background, and never in `claude -p`, which would wait for
 * it. It ends with its program, and outlives the server: it asks again until there is one. `claude -p` is told
 * with its prompt, with its tools and at its end, where a result of its own makes it go on; its start is left out.
 * H3: it finds the server by the file in the data directory, which only the user can write, so a project cannot
 * send its words elsewhere. If the process that wrote it has ended, there is no server, whoever listens now.
 * H4: it says who it is with the user's token, so that it is heard with `auth = "on"` too, and the server need not
 * look for the process behind each connection.
 */
import { join } from 'node:path'
import { claudeHookPath, claudeMoments } from '../../wire/hooks.ts'

type Hook = { type: 'command'; command: string; timeout: number; asyncRewake?: true }
type HookGroup = { hooks: Hook[] }

/** The script gives up after a second; this only guards against the script itself. */
const timeoutSeconds = 5
/** With what the shell and curl take themselves, it stays below a second. */
const askSecondsMax = 0.8
/** Twenty days: as long as a timer can be. */
const waitSeconds = 1_728_000

/** True in `claude -p`. */
const unlessAlone = '[ "$CLAUDE_CODE_SESSION_ATTENDED" = 0 ] || '

/** Moments at which the session may begin to rest. */
const restingAfter: ReadonlySet<string> = new Set(['SessionStart', 'Stop'])

export const claudeScriptFile = (dataDir: string): string => join(dataDir, 'hooks', 'claude-code')

/** The `hooks` of `settings.json`; merge each list with the one that is there. */
export function claudeHooks(dataDir: string): Record<string, HookGroup[]> {
  const script = quote(claudeScriptFile(dataDir))
  const tell = (event: string): Hook => ({
    type: 'command',
    // Where nobody sits in front of it, a prompt follows at once, and says the same.
    command: `${event === 'SessionStart' ? unlessAlone : ''}exec ${script} tell ${event}`,
    timeout: timeoutSeconds,
  })
  const wait: Hook = {
    type: 'command',
    // H2: it is not even started there.
    command: `${unlessAlone}exec ${script} wait`,
    timeout: waitSeconds,
    asyncRewake: true,
  }
  return Object.fromEntries(
    Object.keys(claudeMoments).map((event) => [
      event,
      [{ hooks: restingAfter.has(event) ? [tell(event), wait] : [tell(event)] }],
    ]),
  )
}

/** One word of a shell, whatever is in it. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Written to `claudeScriptFile`, mode 0700. It needs a POSIX shell and curl, and starts nothing else. `seconds` is how
 * long a server may take to answer.
 */
export const renderClaudeScript = (dataDir: string, seconds = askSecondsMax): string => `#!/bin/sh
# Tells Claude Code of its mail. "tieline up" wrote this, and "tieline down" removes it.
# tell EVENT: says what waits. wait: ends with 2 when there is a reason to start the session, which rests.
data=${quote(dataDir)}
# A session that Tieline itself runs is not one that you have open.
case $TIELINE_TOKEN in tls_* | tlt_*) exit 0 ;; esac
case $CLAUDE_CODE_SESSION_ID in '' | *[!A-Za-z0-9-]*) exit 0 ;; esac
hung="$data/hooks/hung-$CLAUDE_CODE_SESSION_ID"
parent=$PPID

# The address that the server has left, or nothing.
find_server() {
  line=
  url=
  pid=
  token=
  [ -r "$data/server.json" ] && IFS= read -r line < "$data/server.json"
  case $line in *'"url":"'*) url=\${line#*'"url":"'} url=\${url%%'"'*} ;; esac
  case $line in *'"pid":'*) pid=\${line#*'"pid":'} pid=\${pid%%[!0-9]*} ;; esac
  [ -n "$url" ] && [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null || return 1
  [ -r "$data/token" ] && IFS= read -r token < "$data/token"
  return 0
}

# Posts its input. The token stands in no command line, where others could read it. An empty header is not sent.
ask() {
  curl -s --noproxy '*' -K /dev/fd/3 --data-binary @- "$@" 3<<END
header = "content-type: application/json"
header = "authorization:\${token:+ Bearer }$token"
END
}

# What a hook is given may be long, and little of it is needed.
describe() {
  printf '{"session_id":"%s","cwd":"%s","hook_event_name":"%s"}' "$CLAUDE_CODE_SESSION_ID" "$PWD" "$1"
}

if [ "$1" = tell ]; then
  if [ -e "$hung" ]; then
    [ "$2" = SessionEnd ] && rm -f "$hung"
    exit 0
  fi
  find_server || exit 0
  # Nobody waits for the answer of a program that ends.
  if [ "$2" = SessionEnd ] && [ "$CLAUDE_CODE_SESSION_ATTENDED" = 0 ]; then
    { describe "$2" | ask --max-time ${seconds} "$url${claudeHookPath}"; } > /dev/null 2>&1 &
    exit 0
  fi
  case "$2 $PWD" in
    UserPromptSubmit* | *[\\"\\\\]*) ask --max-time ${seconds} --fail "$url${claudeHookPath}" ;;
    *) describe "$2" | ask --max-time ${seconds} --fail "$url${claudeHookPath}" ;;
  esac
  [ $? = 28 ] && : > "$hung"
  exit 0
fi

while kill -0 "$parent" 2> /dev/null; do
  if find_server; then
    [ -e "$hung" ] && curl -s --noproxy '*' -o /dev/null --max-time 5 "$url/health" && rm -f "$hung"
    said=$(describe wait | ask --max-time 300 -w '\\n%{http_code}' "$url${claudeHookPath}/wait")
    case $said in
      *'
200') printf '%s\\n' "\${said%???}" >&2; exit 2 ;;
      *204) continue ;;
      *205 | *40?) exit 0 ;;
    esac
  fi
  sleep 2
done
`
