------------------------------ MODULE Properties ------------------------------
(* What must hold of Calls.tla: one property per law, witnesses that must be  *)
(* violated (or the model never gets that far), and liveness for TLC.         *)
EXTENDS Calls

Outcomes == {"completed", "timed_out", "cancelled"}
Sessions == {ses[t] : t \in Used}

TypeOK ==
  /\ \A t \in Ids : st[t] \in {"free", "queued", "running", "ended"} /\ call[t] \in {"none", "pending"} \cup Outcomes
  /\ \A t \in Ids : par[t] \in 0..(t - 1) /\ below[t] >= 0
  /\ (\A x \in Enders : Ours(x) => stop[x[2]] # "no") /\ faults \in 0..MaxFaults

(* R5 *)
NoCycle == \A c \in Used : Cardinality(ToSet(path[c])) = Len(path[c])
NoDeadlock == \A s \in Sessions : ~Waits(s, s)

(* Every wait that is really waited stands in the journal. *)
WaitsRecorded == {c \in aw : call[c] = "pending"} \subseteq waits

(* R6: one running turn for each session, and one that may commit for it. *)
SingleActivationDuringCall ==
  /\ \A s \in Sessions : Cardinality({t \in Running : ses[t] = s}) <= 1
  /\ \A t \in Running : Cardinality({x \in run \cup seen : x[2] = t /\ Ours(x)}) <= 1
NoStaleCommit == ~torn

(* R7 *)
Root(t) == IF par[t] = 0 THEN t ELSE IF par[par[t]] = 0 THEN par[t] ELSE IF par[par[par[t]]] = 0 THEN par[par[t]] ELSE par[par[par[t]]]
DepthBounded == \A c \in Used : Len(path[c]) - 1 <= MaxDepth
Spent(r, t) == IF t \notin Ids THEN 0 ELSE IF Root(t) = r THEN used[t] ELSE 0
BudgetKept == \A u \in Ids : Spent(u, 1) + Spent(u, 2) + Spent(u, 3) + Spent(u, 4) + Spent(u, 5) <= Budget
HoldKept == \A t \in Ids : used[t] + below[t] <= max[t]
GrantShrinks == \A c \in Used : par[c] # 0 => max[c] <= max[par[c]]

(* R3: whoever is waited for is waited for by a live turn whose own call is pending. *)
NoOrphan == \A c \in Pending : st[par[c]] = "running" /\ stop[par[c]] = "no" /\ call[par[c]] \in {"none", "pending"}
EndsOnce == \A c \in Used : ends[c] = IF call[c] \in Outcomes THEN 1 ELSE 0
NothingAfterEnd == \A c \in Used : st[c] = "ended" => call[c] # "pending"

(* R10: no call is made twice by a turn that is run again. *)
NoDouble == \A c, d \in Used : (c # d /\ par[c] = par[d] /\ par[c] # 0) => key[c] # key[d]

(* R12: nothing waits in a session that rests. *)
WorkConserved == \A t \in Queued : \E r \in Running : ses[r] = ses[t]

(* R4: whoever must stop can be told. *)
CanBeTold == \A x \in run : Ours(x) => x \in seen

(* Liveness.  Deadlines need only somebody's clock. *)
FairClock == \A c \in Ids : WF_vars(Expire(c))
FairSweep == \A n \in Nodes : \A t \in Ids :
  WF_vars(n \in Live /\ t \in Queued /\ Claim(n, t)) /\ WF_vars(n \in Live /\ t \in Running /\ (Takeover(n, t) \/ Oust(n, t))) /\ WF_vars(Lapse(n) /\ n \in down) /\ WF_vars(n \in Live /\ Beat(n))
FairStop  == \A n \in Nodes : \A t \in Ids : \A e \in 1..(MaxEpoch + MaxFaults) : WF_vars(<<n, t, e>> \in run /\ Stop(<<n, t, e>>)) /\ WF_vars(<<n, t, e>> \in Enders /\ Orphan(<<n, t, e>>))
FairWork  == \A n \in Nodes : \A t \in Ids : \A e \in 1..(MaxEpoch + MaxFaults) : WF_vars(<<n, t, e>> \in run /\ Finish(<<n, t, e>>))
ClockSpec == Spec /\ FairClock
SweepSpec == Spec /\ FairSweep /\ FairStop
WorkSpec  == Spec /\ FairSweep /\ FairStop /\ FairWork

(* R4 under ClockSpec; without any deadline (Timeouts = FALSE) under WorkSpec. *)
CallEventuallyCompletes == \A c \in Ids : (call[c] = "pending") ~> (call[c] \in Outcomes)
(* Under SweepSpec. *)
StoppedTurnEnds == \A t \in Ids : (st[t] = "running" /\ stop[t] # "no") ~> (st[t] = "ended")
(* Under WorkSpec. *)
EverythingRests == \A t \in Ids : (st[t] # "free") ~> (st[t] = "ended")

(* R12 under SweepSpec, also where StartNext is FALSE: what the commit did    *)
(* not start is started by the sweep.                                         *)
QueuedEventuallyStarts == \A t \in Ids : (st[t] = "queued" /\ \A r \in Running : ses[r] # ses[t]) ~> (st[t] # "queued")

(* Witnesses: each must be VIOLATED. *)
NeverDeep      == \A c \in Used : ~(Len(path[c]) - 1 = MaxDepth /\ call[c] = "completed")
NeverQueued    == \A t \in Queued : call[t] # "pending"
NeverGoesOn    == \A t \in Running : ~(call[t] = "timed_out" /\ stop[t] = "no")
NeverTakenOver == \A t \in Ids : epoch[t] <= 1
NeverStale     == \A x \in run : Ours(x)
NeverItself    == \A x, y \in run : x # y => x[1] # y[1] \/ x[2] # y[2]
NeverOrphaned  == \A t \in Running : ~(stop[t] # "no" /\ node[t] \in down)
NeverOusted    == Enders = {}
NeverRecalled  == \A t \in Running : ~(epoch[t] > 1 /\ pos[t] > 0)
NeverWaits     == aw = {}
NeverRing      == ~\E t \in Running : \E b \in Agents : /\ b \notin ToSet(path[t]) /\ stop[t] = "no"
                                                         /\ Leads(b, ses[t])
NeverHeldLate  == \A t \in Used : ~(st[t] = "ended" /\ max[t] > 0 /\ \E d \in Kids(t) : st[d] = "running")
NeverCancelled == \A c \in Used : ~(call[c] = "cancelled" /\ par[c] # 0 /\ call[par[c]] = "cancelled")

Symmetry == Permutations(Agents)
===============================================================================
