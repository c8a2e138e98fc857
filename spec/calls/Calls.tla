-------------------------------- MODULE Calls --------------------------------
(* The call protocol of Tieline, as src/model, src/runtime and src/store do   *)
(* it.  One durable journal of turns decides everything; each action that     *)
(* changes it is one transaction.  What nodes have in memory is lost in a     *)
(* crash.  Hints are no part of this: whatever they say is also found by the  *)
(* sweep, so every action may happen at any time or never, which covers hints *)
(* that are late, doubled or lost.                                            *)
(* To run it with the TLA+ tools, in this directory:                          *)
(*   java -cp tla2tools.jar tlc2.TLC -config Stale.cfg Properties.tla         *)
(*   java -cp tla2tools.jar tlc2.TLC -config Live.cfg Properties.tla          *)
(* `npm run proof` runs every configuration of safety with npm's tla-checker. *)
(* What must hold is in Properties.tla.                                       *)
(*                                                                            *)
(* The constants below the line are guards.  TRUE is the protocol.  FALSE     *)
(* takes one guard away, and the checker must then find a violation.          *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Agents,      \* each has one persistent session, named like the agent
  Nodes,       \* processes that share the journal
  MaxTurns,    \* rows of the journal: bounds the model, not the protocol
  MaxRoots,    \* inputs of users
  MaxDepth,    \* hops below a root
  Budget,      \* tokens of a root and everything below it; 0 is no budget
  MaxFaults,   \* faults in one behaviour
  MaxEpoch,    \* bounds takeovers from nodes that are only slow
  Faults,      \* subset of {"crash", "lapse", "forget"}
  Kinds,       \* subset of {"fresh", "kept", "background"}: calls that are made
  Timeouts, Cancels,  \* FALSE: no deadline ever comes, users cancel nothing
  (*------------------------------------------------------------------------*)
  CheckCycle,  \* R5: refuse an agent that is on the caller's own path
  CheckDepth,  \* R7
  CheckGraph,  \* R5: refuse the wait that closes a ring across roots
  OwnPending,  \* R6: a turn calls out only while its own call is pending
  OneTurn,     \* R6: a session runs one turn, the next one waits in its queue
  Fence,       \* R6: a commit names its node and epoch, a stale one is refused
  EndBelow,    \* R3: an ending ends what is pending below in the same write
  FirstWins,   \* R3: the ending of a call that has ended changes nothing
  KeepHold,    \* R7: tokens are given back when the callee's turn has stopped
  Recall,      \* R10: a turn that is run again finds the calls it has made
  OwnWaits,    \* R5: only the turn that waits takes its wait away
  OwnEntry,    \* R4: a stale driver forgets itself, not its successor
  Adopt,       \* R4: a node takes up its own turns that it does not run
  StartNext    \* R12: the end of a turn starts what waits behind it in the same write

Ids == 1..MaxTurns

VARIABLES
  (* The journal: one row for each input of a session and the turn that serves it. *)
  st,      \* "free", "queued", "running" or "ended"
  ses,     \* its session: an agent's own, or the number of the row if the call made one
  path,    \* agents from the root to the one that runs it
  par,     \* the turn that made the call, 0 for the input of a user
  bg,      \* a background call: its caller does not wait unless it says so
  key,     \* which of its caller's calls it is
  call,    \* "none" for the input of a user, "pending", or how the call ended
  ends,    \* how often an ending of the call was recorded
  stop,    \* "no", or how the turn was told to end
  node,    \* who runs it
  epoch,   \* raised at every takeover
  max,     \* tokens that it may use, held at its caller
  used,    \* tokens that its recorded steps used
  below,   \* held by calls below that have not stopped, plus used by those that have
  waits,   \* background calls whose caller has said that it waits
  (* Memory, lost in a crash. *)
  pos,     \* how many of its calls the turn has made, or asked for again
  run,     \* drivers at work, as <<node, turn, epoch>>
  seen,    \* the drivers that their node can tell to stop, and those that only end a turn
  aw,      \* background calls that are really waited for
  (* The world. *)
  down,    \* nodes that have crashed; a restarted one has a new name
  lapsed,  \* nodes whose lease has run out
  faults,
  torn     \* history: a stale driver has committed something

place  == <<ses, path, par, bg, key, max>>
life   == <<st, call, ends, stop>>
owner  == <<node, epoch>>
tokens == <<used, below>>
memory == <<pos, run, seen>>
world  == <<down, lapsed, faults>>
vars   == <<place, life, owner, tokens, memory, world, waits, aw, torn>>

ToSet(s) == {s[i] : i \in 1..Len(s)}
Used     == {c \in Ids : st[c] # "free"}
Pending  == {c \in Ids : call[c] = "pending"}
Running  == {t \in Ids : st[t] = "running"}
Queued   == {t \in Ids : st[t] = "queued"}
NextId   == Cardinality(Used) + 1
Kids(t)  == {d \in Used : par[d] = t}
Fresh(t) == ses[t] = t
Live     == Nodes \ down
Enders   == seen \ run
Ours(x)  == st[x[2]] = "running" /\ node[x[2]] = x[1] /\ epoch[x[2]] = x[3]
Idle(s)  == ~OneTurn \/ \A t \in Ids : st[t] \in {"running", "queued"} => ses[t] # s
Left(t)  == max[t] - used[t] - below[t]

(* Pending calls below a turn, all levels, through pending calls only.  Four  *)
(* levels are enough for five rows.  Written without sets of sets, because    *)
(* checkers evaluate definitions anew at every use.                           *)
Hangs(p) == p # 0 /\ call[p] = "pending"
IsBelow(d, t) ==
  \/ par[d] = t
  \/ Hangs(par[d]) /\ (\/ par[par[d]] = t
                       \/ Hangs(par[par[d]]) /\ (\/ par[par[par[d]]] = t
                                                 \/ Hangs(par[par[par[d]]]) /\ par[par[par[par[d]]]] = t))
(* The wait-for graph over sessions, as the journal knows it. *)
Edges(s) == {ses[d] : d \in {x \in Pending : ~bg[x] /\ ses[par[x]] = s}} \cup {c \in waits : ses[par[c]] = s}
Leads(b, s) == b = s \/ \E u \in Edges(b) : u = s \/ \E v \in Edges(u) : v = s \/ \E w \in Edges(v) : w = s \/ s \in Edges(w)
(* The same as it really is: who is blocked by whom. *)
Blocks(s) == {ses[d] : d \in {x \in Pending : (~bg[x] \/ x \in aw) /\ ses[par[x]] = s}}
Waits(b, s) == \E u \in Blocks(b) : u = s \/ \E v \in Blocks(u) : v = s \/ \E w \in Blocks(v) : w = s \/ s \in Blocks(w)

(* Tokens: a row that has ended puts what it used in the place of what it     *)
(* held, at its caller, and further up where that has ended already.          *)
Gone(now, p) == p # 0 /\ now[p] = "ended"
Gets(now, up, p) ==
  \/ p = up
  \/ Gone(now, p) /\ (\/ par[p] = up
                      \/ Gone(now, par[p]) /\ (\/ par[par[p]] = up
                                               \/ Gone(now, par[par[p]]) /\ par[par[par[p]]] = up))
Share(then, up, k, over) ==
  IF k \notin Ids THEN 0 ELSE IF par[k] = 0 THEN 0 ELSE IF ~Gets(then, up, par[k]) THEN 0
  ELSE IF then[k] = "ended" /\ st[k] # "ended" THEN used[k] + below[k] - max[k]
  ELSE IF ~KeepHold /\ k \in over THEN 0 - max[k]
  ELSE 0

(* One transaction that ends things.  The row t becomes (s, c, p); calls that *)
(* are pending below it end with it, queued ones never run, and their turns   *)
(* are told to stop.  Tokens and waits are settled in the same write.  Where  *)
(* t ran and its session rests now, what waits behind it starts on node n;    *)
(* the drivers in gone are at work no longer.                                 *)
Behind(new, t) == {q \in Ids : new[q] = "queued" /\ ses[q] = ses[t]}
Change(t, s, c, p, n, gone) ==
  \E hit \in {IF EndBelow THEN {d \in Pending : d # t /\ IsBelow(d, t)} ELSE {}} :
  \E ended \in {IF c # call[t] THEN hit \cup {t} ELSE hit} :
  \E new \in {[d \in Ids |-> IF d = t THEN s ELSE IF d \in hit /\ st[d] = "queued" THEN "ended" ELSE st[d]]} :
  \E next \in {IF StartNext /\ s = "ended" /\ st[t] = "running" THEN {q \in Behind(new, t) : \A d \in Behind(new, t) : q <= d} ELSE {}} :
    /\ st'    = [d \in Ids |-> IF d \in next THEN "running" ELSE new[d]]
    /\ node'  = [d \in Ids |-> IF d \in next THEN n ELSE node[d]]
    /\ epoch' = [d \in Ids |-> IF d \in next THEN 1 ELSE epoch[d]]
    /\ run'   = (run \ gone) \cup {<<n, q, 1>> : q \in next}
    /\ seen'  = (seen \ gone) \cup {<<n, q, 1>> : q \in next}
    /\ call'  = [d \in Ids |-> IF d = t THEN c ELSE IF d \in hit THEN "cancelled" ELSE call[d]]
    /\ ends'  = [d \in Ids |-> IF d \in ended THEN ends[d] + 1 ELSE ends[d]]
    /\ stop'  = [d \in Ids |-> IF d = t THEN p ELSE IF d \in hit /\ st[d] = "running" /\ stop[d] = "no" THEN "cancelled" ELSE stop[d]]
    /\ below' = IF Budget = 0 THEN below
                ELSE [q \in Ids |-> below[q] + Share(new, q, 1, ended) + Share(new, q, 2, ended) + Share(new, q, 3, ended) + Share(new, q, 4, ended) + Share(new, q, 5, ended)]
    /\ waits' = IF new[t] # "ended" THEN waits
                ELSE IF st[t] = "running" \/ (~OwnWaits /\ call[t] = "none") THEN {d \in waits : ses[par[d]] # ses[t]}
                ELSE waits
    /\ aw'    = IF new[t] = "ended" THEN {d \in aw : par[d] # t} ELSE aw
    /\ UNCHANGED <<place, used, pos>>
(* The three endings of src/model/end.ts, and next-turn.ts. *)
EndTurn(t, how, n, gone) ==
  Change(t, "ended", IF call[t] = "pending" \/ (~FirstWins /\ call[t] # "none") THEN how ELSE call[t], stop[t], n, gone)
EndCall(t, how) ==
  Change(t, IF st[t] = "queued" THEN "ended" ELSE st[t], how,
         IF st[t] = "running" /\ stop[t] = "no" /\ (how # "timed_out" \/ Fresh(t)) THEN how ELSE stop[t], 0, {})
CancelTurn(t, how) ==
  Change(t, IF st[t] = "queued" THEN "ended" ELSE st[t], IF call[t] = "pending" THEN how ELSE call[t],
         IF st[t] = "running" THEN how ELSE stop[t], 0, {})

Init ==
  /\ st = [c \in Ids |-> "free"] /\ call = [c \in Ids |-> "none"] /\ stop = [c \in Ids |-> "no"] /\ ends = [c \in Ids |-> 0]
  /\ ses = [c \in Ids |-> 0] /\ path = [c \in Ids |-> <<>>] /\ par = [c \in Ids |-> 0]
  /\ bg = [c \in Ids |-> FALSE] /\ key = [c \in Ids |-> 0] /\ max = [c \in Ids |-> 0] /\ used = [c \in Ids |-> 0]
  /\ below = [c \in Ids |-> 0] /\ pos = [c \in Ids |-> 0] /\ node = [c \in Ids |-> 0] /\ epoch = [c \in Ids |-> 0]
  /\ waits = {} /\ run = {} /\ seen = {} /\ aw = {} /\ down = {} /\ lapsed = {} /\ faults = 0 /\ torn = FALSE

Leave(x) == run' = run \ {x} /\ seen' = seen \ {x}
Enter(x) == run' = run \cup {x} /\ seen' = {y \in seen : y[1] # x[1] \/ y[2] # x[2]} \cup {x}
May(x)   == Fence => Ours(x)
Torn(x)  == torn \/ ~Ours(x)
(* A new row starts at once where its session rests, otherwise it is queued. *)
Put(c, s, n) ==
  IF Idle(s)
  THEN /\ st' = [st EXCEPT ![c] = "running"] /\ node' = [node EXCEPT ![c] = n] /\ epoch' = [epoch EXCEPT ![c] = 1]
       /\ Enter(<<n, c, 1>>)
  ELSE st' = [st EXCEPT ![c] = "queued"] /\ UNCHANGED <<node, epoch, run, seen>>
(* A user asks the persistent session of an agent for something (send.ts). *)
Send(n, a) ==
  /\ NextId \in Ids /\ Cardinality({t \in Used : par[t] = 0}) < MaxRoots
  /\ \E c \in {NextId} :
       /\ Put(c, a, n)
       /\ ses' = [ses EXCEPT ![c] = a] /\ path' = [path EXCEPT ![c] = <<a>>] /\ max' = [max EXCEPT ![c] = Budget]
  /\ UNCHANGED <<par, bg, key, call, ends, stop, tokens, pos, world, waits, aw, torn>>
(* The driver x calls agent b, holding g tokens for it (call.ts, openCall). *)
Open(x, b, kind, g) ==
  \E t \in {x[2]} : \E c \in {NextId} : \E s \in {IF kind = "kept" THEN b ELSE NextId} :
    /\ May(x)
    /\ (Recall => pos[t] = Cardinality(Kids(t)))
    /\ (OwnPending => (stop[t] = "no" /\ call[t] \in {"none", "pending"}))
    /\ (CheckCycle => b \notin ToSet(path[t]))
    /\ (CheckDepth => Len(path[t]) <= MaxDepth)
    /\ ((CheckGraph /\ kind = "kept") => ~Leads(b, ses[t]))
    /\ Put(c, s, x[1])
    /\ ses' = [ses EXCEPT ![c] = s] /\ path' = [path EXCEPT ![c] = Append(path[t], b)] /\ par' = [par EXCEPT ![c] = t]
    /\ bg' = [bg EXCEPT ![c] = (kind = "background")] /\ key' = [key EXCEPT ![c] = pos[t] + 1] /\ max' = [max EXCEPT ![c] = g]
    /\ call' = [call EXCEPT ![c] = "pending"] /\ below' = [below EXCEPT ![t] = @ + g] /\ pos' = [pos EXCEPT ![t] = @ + 1]
    /\ torn' = Torn(x)
    /\ UNCHANGED <<ends, stop, used, world, waits, aw>>
(* A turn that was taken over asks again for a call it has made: the record   *)
(* answers, and nothing is opened (recorded.ts).                              *)
Again(x) ==
  /\ Recall /\ Ours(x) /\ pos[x[2]] < Cardinality(Kids(x[2]))
  /\ pos' = [pos EXCEPT ![x[2]] = @ + 1]
  /\ UNCHANGED <<place, life, owner, tokens, run, seen, world, waits, aw, torn>>
(* A step that costs a token is recorded (steps.ts). *)
Spend(x) ==
  /\ Left(x[2]) > 0 /\ May(x)
  /\ used' = [used EXCEPT ![x[2]] = @ + 1] /\ torn' = Torn(x)
  /\ UNCHANGED <<place, life, owner, below, memory, world, waits, aw>>
(* The driver waits for a background call, unless that closes a ring          *)
(* (acts.ts); the wait ends when the call has, or when its time is over.      *)
Wait(x, c) ==
  /\ par[c] = x[2] /\ bg[c] /\ c \notin aw /\ May(x)
  /\ (CheckGraph => ~Leads(c, ses[x[2]])) /\ waits' = waits \cup {c} /\ aw' = aw \cup {c} /\ torn' = Torn(x)
  /\ UNCHANGED <<place, life, owner, tokens, memory, world>>
Unwait(x, c) ==
  /\ par[c] = x[2] /\ Ours(x) /\ aw' = aw \ {c} /\ waits' = waits \ {c}
  /\ UNCHANGED <<place, life, owner, tokens, memory, world, torn>>
(* A wait whose driver is gone counts until its turn is taken over. *)
Fade(c) ==
  /\ c \notin aw /\ waits' = waits \ {c}
  /\ UNCHANGED <<place, life, owner, tokens, memory, world, aw, torn>>
(* The driver has come to an end by itself; nothing it waits for is pending. *)
Finish(x) ==
  /\ (\A d \in Pending : par[d] = x[2] => (bg[d] /\ d \notin aw))
  /\ May(x) /\ EndTurn(x[2], "completed", x[1], {x}) /\ torn' = Torn(x)
  /\ UNCHANGED world
(* It was told to stop, and has; after a grace time it is left behind. *)
Stop(x) ==
  /\ x \in seen /\ Ours(x) /\ stop[x[2]] # "no"
  /\ EndTurn(x[2], stop[x[2]], x[1], {x})
  /\ UNCHANGED <<world, torn>>
(* A stale driver learns that its turn is no longer its own. *)
Drop(x) ==
  /\ ~Ours(x) /\ run' = run \ {x} /\ seen' = IF OwnEntry THEN seen \ {x} ELSE {y \in seen : y[1] # x[1] \/ y[2] # x[2]}
  /\ UNCHANGED <<place, life, owner, tokens, pos, world, waits, aw, torn>>
(* Any node may end a call whose deadline has come, and a turn likewise. *)
Expire(c) ==
  /\ Timeouts /\ call[c] = "pending"
  /\ EndCall(c, "timed_out") /\ UNCHANGED <<world, torn>>
Due(t) ==
  /\ Timeouts /\ st[t] = "running" /\ stop[t] = "no" /\ ~Fresh(t) /\ par[t] # 0
  /\ CancelTurn(t, "timed_out") /\ UNCHANGED <<world, torn>>
Cancel(t) ==
  /\ Cancels /\ par[t] = 0 /\ st[t] \in {"queued", "running"} /\ stop[t] = "no"
  /\ CancelTurn(t, "cancelled") /\ UNCHANGED <<world, torn>>
(* The sweep of node n: the next input of a session at rest (where the end    *)
(* before it could not start it), a turn whose node has lost its lease, one   *)
(* that was told to stop and whose driver died.                               *)
Claim(n, t) ==
  /\ (\A d \in Running \cup Queued : (d # t /\ ses[d] = ses[t]) => (st[d] = "queued" /\ d > t))
  /\ st' = [st EXCEPT ![t] = "running"] /\ node' = [node EXCEPT ![t] = n] /\ epoch' = [epoch EXCEPT ![t] = 1]
  /\ Enter(<<n, t, 1>>)
  /\ UNCHANGED <<place, call, ends, stop, tokens, pos, world, waits, aw, torn>>
(* Of its own turns a node knows by itself whether they run; of others their  *)
(* node's lease says so.                                                      *)
Dead(n, t) == IF node[t] = n THEN Adopt /\ (\A y \in seen : y[1] # n \/ y[2] # t) ELSE node[t] \in lapsed
Takeover(n, t) ==
  /\ stop[t] = "no" /\ Dead(n, t)
  /\ (epoch[t] < MaxEpoch \/ node[t] \in down \/ node[t] = n)
  /\ node' = [node EXCEPT ![t] = n] /\ epoch' = [epoch EXCEPT ![t] = @ + 1] /\ pos' = [pos EXCEPT ![t] = 0]
  /\ aw' = {c \in aw : par[c] # t} /\ Enter(<<n, t, epoch[t] + 1>>)
  /\ UNCHANGED <<place, life, tokens, world, waits, torn>>
(* A turn that was told to stop is taken only to be ended.  From then on      *)
(* whoever had it records nothing more, so what it had used can be read, and  *)
(* its end is recorded in a second transaction.                               *)
Oust(n, t) ==
  /\ stop[t] # "no" /\ Dead(n, t)
  /\ (epoch[t] < MaxEpoch \/ node[t] \in down \/ node[t] = n)
  /\ node' = [node EXCEPT ![t] = n] /\ epoch' = [epoch EXCEPT ![t] = @ + 1]
  /\ aw' = {c \in aw : par[c] # t} /\ seen' = {y \in seen : y[1] # n \/ y[2] # t} \cup {<<n, t, epoch[t] + 1>>}
  /\ UNCHANGED <<place, life, tokens, pos, run, world, waits, torn>>
Orphan(x) ==
  /\ Ours(x) /\ stop[x[2]] # "no"
  /\ EndTurn(x[2], stop[x[2]], x[1], {x}) /\ UNCHANGED <<world, torn>>
(* Faults: a node dies, is too slow to keep its lease, or fails to commit the *)
(* end of a turn and goes on.                                                 *)
Crash(n) ==
  /\ "crash" \in Faults /\ faults < MaxFaults /\ Cardinality(Live) > 1
  /\ down' = down \cup {n} /\ faults' = faults + 1
  /\ run' = {x \in run : x[1] # n} /\ seen' = {x \in seen : x[1] # n}
  /\ aw' = {c \in aw : node[par[c]] # n}
  /\ UNCHANGED <<place, life, owner, tokens, pos, lapsed, waits, torn>>
Lapse(n) ==
  /\ n \notin lapsed
  /\ (n \in down \/ ("lapse" \in Faults /\ faults < MaxFaults))
  /\ faults' = (IF n \in down THEN faults ELSE faults + 1) /\ lapsed' = lapsed \cup {n}
  /\ UNCHANGED <<place, life, owner, tokens, memory, down, waits, aw, torn>>
Beat(n) ==
  /\ n \in lapsed /\ lapsed' = lapsed \ {n}
  /\ UNCHANGED <<place, life, owner, tokens, memory, down, faults, waits, aw, torn>>
Forget(x) ==
  /\ "forget" \in Faults /\ faults < MaxFaults /\ Ours(x)
  /\ faults' = faults + 1 /\ Leave(x) /\ aw' = {c \in aw : par[c] # x[2]}
  /\ UNCHANGED <<place, life, owner, tokens, pos, down, lapsed, waits, torn>>

Grants(t) == IF Budget = 0 THEN {0} ELSE 1..Left(t)

Next ==
  \/ \E n \in Live : \E a \in Agents : Send(n, a)
  \/ \E x \in run :
       \/ NextId \in Ids /\ \E b \in Agents : \E k \in Kinds : \E g \in Grants(x[2]) : Open(x, b, k, g)
       \/ Again(x) \/ Spend(x) \/ Finish(x) \/ Stop(x) \/ Drop(x) \/ Forget(x)
       \/ \E c \in Pending : Wait(x, c)
       \/ \E c \in aw : Unwait(x, c)
  \/ \E x \in Enders : Orphan(x) \/ Drop(x) \/ Forget(x)
  \/ \E c \in waits : Fade(c)
  \/ \E c \in Pending : Expire(c)
  \/ \E t \in Used : Due(t) \/ Cancel(t)
  \/ \E n \in Live : \/ \E t \in Queued : Claim(n, t)
                     \/ \E t \in Running : Takeover(n, t) \/ Oust(n, t)
                     \/ Crash(n) \/ Beat(n)
  \/ \E n \in Nodes : Lapse(n)

Spec == Init /\ [][Next]_vars
===============================================================================
