------------------------------ MODULE Activation ------------------------------
(* Who may act for a session: the lease of a node, the epoch of a turn, and   *)
(* the fence at every commit, as src/runtime/{node,claim,running}.ts do it.   *)
(* A node beats its heart into one row (until).  The sweep of any node finds  *)
(* a running turn whose node has lost its lease (Look), and may be paused for *)
(* any time before it claims the turn in a transaction of its own, which      *)
(* reads the row again and raises the epoch (Take).  A driver may be paused   *)
(* for any time between its work and its commit.                              *)
(*   java -cp tla2tools.jar tlc2.TLC -config Safe.cfg Activation.tla          *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Nodes, MaxTime, Lease, MaxLog, MaxTaken,
          Recheck,     \* the claim reads lease and epoch again in its own transaction
          Raise,       \* the claim raises the epoch
          FenceNode,   \* a commit is taken only from the node of the row
          FenceEpoch   \* a commit is taken only under the epoch of the row

VARIABLES
  now,     \* the clock of the store
  until,   \* lease of each node
  owner,   \* row: the node that runs the turn
  epoch,   \* row: its epoch
  saw,     \* memory: the epoch that a node's sweep found without a lease, -1 for none
  drv,     \* memory: drivers, as <<node, epoch, number of the activation>>
  taken,   \* history: how many activations there were
  log,     \* history: number of the activation behind each commit
  early    \* history: a turn was taken from a node that had its lease

vars == <<now, until, owner, epoch, saw, drv, taken, log, early>>

(* The first node starts the turn in the transaction that opens it. *)
Init == \E n \in Nodes :
  /\ now = 0 /\ until = [m \in Nodes |-> Lease]
  /\ owner = n /\ epoch = 1 /\ taken = 1 /\ drv = {<<n, 1, 1>>}
  /\ saw = [m \in Nodes |-> -1] /\ log = <<>> /\ early = FALSE

Tick == now < MaxTime /\ now' = now + 1 /\ UNCHANGED <<until, owner, epoch, saw, drv, taken, log, early>>
Beat(n) == /\ until[n] # now + Lease
           /\ until' = [until EXCEPT ![n] = now + Lease]
           /\ UNCHANGED <<now, owner, epoch, saw, drv, taken, log, early>>
(* Of its own turns a node knows by itself whether they run. *)
Look(n) == /\ saw[n] = -1 /\ owner # n /\ until[owner] <= now
           /\ saw' = [saw EXCEPT ![n] = epoch]
           /\ UNCHANGED <<now, until, owner, epoch, drv, taken, log, early>>
Take(n) == /\ saw[n] # -1 /\ taken < MaxTaken
           /\ (Recheck => (until[owner] <= now /\ owner # n))
           /\ LET base == IF Recheck THEN epoch ELSE saw[n]
                  next == IF Raise THEN base + 1 ELSE base
              IN  epoch' = next /\ drv' = drv \cup {<<n, next, taken + 1>>}
           /\ owner' = n /\ taken' = taken + 1
           /\ early' = (early \/ until[owner] > now)
           /\ saw' = [saw EXCEPT ![n] = -1]
           /\ UNCHANGED <<now, until, log>>
(* The claim finds that somebody has it again, or its sweep was dropped. *)
Lose(n) == saw[n] # -1 /\ saw' = [saw EXCEPT ![n] = -1] /\ UNCHANGED <<now, until, owner, epoch, drv, taken, log, early>>
Mine(x) == (FenceNode => x[1] = owner) /\ (FenceEpoch => x[2] = epoch)
Commit(x) == /\ Len(log) < MaxLog /\ Mine(x)
             /\ log' = Append(log, x[3])
             /\ UNCHANGED <<now, until, owner, epoch, saw, drv, taken, early>>
(* A commit is refused, or the process has died. *)
Leave(x) == drv' = drv \ {x} /\ UNCHANGED <<now, until, owner, epoch, saw, taken, log, early>>

Next == \/ Tick
        \/ \E n \in Nodes : Beat(n) \/ Look(n) \/ Take(n) \/ Lose(n)
        \/ \E x \in drv : Commit(x) \/ Leave(x)
Spec == Init /\ [][Next]_vars

(* At most one driver can commit, however many are at work. *)
OneHolder == Cardinality({x \in drv : x[1] = owner /\ x[2] = epoch}) <= 1
(* Nothing of an old activation lands after something of a newer one began. *)
NoStaleCommit == \A i \in 1..Len(log) : \A j \in 1..i : log[j] <= log[i]
NoEarlyTake == ~early
EpochCounts == epoch = taken
(* Witnesses: must be violated. *)
NeverTakenOver == taken = 1
NeverItself == \A x, y \in drv : x # y => x[1] # y[1]
NeverTwoCommit == \A i, j \in 1..Len(log) : log[i] = log[j]
===============================================================================
