-------------------------------- MODULE Cluster --------------------------------
(* The log that nodes share, as src/store/postgres/ keeps it in PostgreSQL.       *)
(* A node takes the key of its work as a lock, which blocks, reads what was       *)
(* committed before it got it, decides, and sends its rows with the commit in one *)
(* flight.  The flight or its answer may be lost, and a commit may land when its  *)
(* node no longer listens.  PostgreSQL ends the transaction of a node that hangs. *)
(* Hints may be lost: a node reads on at any time, or not.  Clocks are not needed *)
(* for any of this; what leases need of them is in Activation.tla.                *)
(* Nodes of two versions: a newer one writes what an older one cannot fold.       *)
(*   java -cp tla2tools.jar tlc2.TLC -config Safe.cfg Cluster.tla                 *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS Nodes, Newer, Works, MaxRuns, MaxLost,
          Lock,       \* a work holds its key while it decides and commits
          Fresh,      \* it reads after it has its key, and not before
          Fenced,     \* what comes from a transaction that was ended is not taken
          Find,       \* an unanswered commit is looked for before the work is decided again
          WaitKey,    \* and not before its key is free
          InOrder,    \* numbers are given out in the order of the commits
          Gate,       \* a newer node does not start beside an older one
          Notice      \* a node looks at the format whenever it reads

VARIABLES
  log,      \* rows: <<number, work, rows that it decided on, version>>
  given,    \* the highest number that was given out
  lock,     \* who holds each key; 0 is nobody
  run,      \* of each node: <<what it does, its work, rows that it saw, number>>
  fly,      \* commits that are under way, as <<node, work, rows that it saw, number, run>>
  read,     \* of each node: the numbers that it has folded
  told,     \* works that were acknowledged
  runs,     \* how often works were decided
  lost,     \* how many answers and flights were lost
  up,       \* nodes that live, as far as others can tell
  format    \* of the log

vars == <<log, given, lock, run, fly, read, told, runs, lost, up, format>>

Idle == <<"idle", 0, 0, 0>>
Version(n) == IF n \in Newer THEN 2 ELSE 1
Numbers == {r[1] : r \in log}
Max(S) == IF S = {} THEN 0 ELSE CHOOSE x \in S : \A y \in S : y <= x
Done(w) == \E r \in log : r[2] = w
(* Works with one key must not be decided at once; others may. *)
Key(w) == w % 2
Rows(k) == {r \in log : Key(r[2]) = k}
Saw(w) == Cardinality(Rows(Key(w)))
Release(n) == [k \in {0, 1} |-> IF lock[k] = n THEN 0 ELSE lock[k]]
Take(n, w) == IF Lock THEN [lock EXCEPT ![Key(w)] = n] ELSE lock

Init == /\ log = {} /\ given = 0 /\ lock = [k \in {0, 1} |-> 0] /\ fly = {} /\ told = {} /\ runs = 0 /\ lost = 0
        /\ run = [n \in Nodes |-> Idle] /\ read = [n \in Nodes |-> {}]
        /\ up = Nodes \ Newer /\ format = IF Nodes = Newer THEN 2 ELSE 1

(* A node that reads what it cannot fold stops, before it folds it. *)
Knows(n) == Notice => format <= Version(n)
(* It reads everything after what it has read last. *)
ReadOn(n) == read' = [read EXCEPT ![n] = @ \cup {x \in Numbers : x > Max(read[n])}]

Follow(n) == /\ run[n] = Idle /\ Knows(n) /\ Numbers # read[n]
             /\ ReadOn(n) /\ UNCHANGED <<log, given, lock, run, fly, told, runs, lost, up, format>>
(* Where the snapshot is older than the lock, it is taken here. *)
Look(n, w) == /\ ~Fresh /\ run[n] = Idle /\ ~Done(w) /\ w \notin told /\ runs < MaxRuns /\ Knows(n)
              /\ \A m \in Nodes : run[m][2] # w
              /\ run' = [run EXCEPT ![n] = <<"waits", w, Saw(w), 0>>]
              /\ UNCHANGED <<log, given, lock, fly, read, told, runs, lost, up, format>>
Begin(n, w) == /\ (Lock => lock[Key(w)] = 0) /\ runs < MaxRuns /\ Knows(n)
               /\ IF Fresh
                  THEN /\ run[n] = Idle /\ ~Done(w) /\ w \notin told
                       /\ \A m \in Nodes : run[m][2] # w
                  ELSE run[n][1] = "waits" /\ run[n][2] = w
               /\ LET saw == IF Fresh THEN Saw(w) ELSE run[n][3]
                  IN run' = [run EXCEPT ![n] = <<"decides", w, saw, 0>>]
               /\ lock' = Take(n, w)
               /\ runs' = runs + 1 /\ ReadOn(n)
               /\ UNCHANGED <<log, given, fly, told, lost, up, format>>
(* It hangs; PostgreSQL ends its transaction, and its key is free. *)
Hang(n) == /\ run[n][1] = "decides" /\ Lock /\ lock[Key(run[n][2])] = n /\ lost < MaxLost
           /\ lock' = Release(n) /\ lost' = lost + 1
           /\ UNCHANGED <<log, given, run, fly, read, told, runs, up, format>>
Send(n) == /\ run[n][1] = "decides"
           /\ IF Lock /\ lock[Key(run[n][2])] # n /\ Fenced
              THEN /\ run' = [run EXCEPT ![n] = Idle]
                   /\ UNCHANGED <<given, fly>>
              ELSE /\ given' = (IF InOrder THEN given ELSE given + 1)
                   /\ run' = [run EXCEPT ![n] = <<"sent", run[n][2], run[n][3], 0>>]
                   /\ fly' = fly \cup {<<n, run[n][2], run[n][3], IF InOrder THEN 0 ELSE given + 1, runs>>}
           /\ UNCHANGED <<log, lock, read, told, runs, lost, up, format>>
(* The commit is made, whether somebody waits for it or not. *)
Land(x) == LET number == IF InOrder THEN given + 1 ELSE x[4] IN
           /\ given' = (IF InOrder THEN number ELSE given)
           /\ log' = log \cup {<<number, x[2], x[3], Version(x[1])>>}
           /\ fly' = fly \ {x}
           /\ lock' = Release(x[1])
           /\ UNCHANGED <<run, read, told, runs, lost, up, format>>
Flies(n) == \E x \in fly : x[1] = n
Answer(n) == /\ run[n][1] = "sent" /\ ~Flies(n) /\ Done(run[n][2])
             /\ told' = told \cup {run[n][2]} /\ run' = [run EXCEPT ![n] = Idle]
             /\ UNCHANGED <<log, given, lock, fly, read, runs, lost, up, format>>
(* The connection breaks: before the flight arrives, while it is under way, or before its answer. *)
Break(n) == /\ run[n][1] = "sent" /\ lost < MaxLost /\ lost' = lost + 1
            /\ run' = [run EXCEPT ![n] = <<"unsure", run[n][2], 0, 0>>]
            /\ \/ UNCHANGED <<fly, lock>>
               \/ /\ Flies(n) /\ fly' = {x \in fly : x[1] # n}
                  /\ lock' = Release(n)
            /\ UNCHANGED <<log, given, read, told, runs, up, format>>
Find1(n) == /\ run[n][1] = "unsure" /\ Knows(n) /\ ((WaitKey /\ Lock) => lock[Key(run[n][2])] = 0)
            /\ IF Find /\ Done(run[n][2])
               THEN /\ told' = told \cup {run[n][2]} /\ run' = [run EXCEPT ![n] = Idle]
                    /\ UNCHANGED <<lock, runs>>
               ELSE /\ runs < MaxRuns /\ runs' = runs + 1 /\ told' = told
                    /\ lock' = Take(n, run[n][2])
                    /\ run' = [run EXCEPT ![n] = <<"decides", run[n][2], Saw(run[n][2]), 0>>]
            /\ ReadOn(n)
            /\ UNCHANGED <<log, given, fly, lost, up, format>>
(* A newer node starts where no older one lives, and raises the format. *)
Start(n) == /\ n \in Newer /\ n \notin up /\ (Gate => \A m \in up : Version(m) = 2)
            /\ up' = up \cup {n} /\ format' = 2
            /\ UNCHANGED <<log, given, lock, run, fly, read, told, runs, lost>>
(* An older one is stopped, or only seems to be: its lease has ended, and it may come back. *)
Lapse(n) == /\ n \in up \ Newer /\ Newer # {} /\ up' = up \ {n}
            /\ UNCHANGED <<log, given, lock, run, fly, read, told, runs, lost, format>>

Works0(n, w) == (n \in Newer => n \in up) /\ (Look(n, w) \/ Begin(n, w))
Next == \/ \E n \in Nodes : \/ \E w \in Works : Works0(n, w)
                            \/ Follow(n) \/ Hang(n) \/ Send(n) \/ Answer(n) \/ Break(n) \/ Find1(n)
                            \/ Start(n) \/ Lapse(n)
        \/ \E x \in fly : Land(x)
Spec == Init /\ [][Next]_vars

(* R1: a row was decided on all rows before it that its key protects. *)
Decided == \A r \in log : r[3] = Cardinality({s \in Rows(Key(r[2])) : s[1] < r[1]})
(* R2, R10: a work is in the log once, and what was acknowledged is there. *)
Once == \A r, s \in log : r[2] = s[2] => r = s
Kept == \A w \in told : Done(w)
(* R10: who has read a row has read all before it. *)
NoSkip == \A n \in Nodes : \A x \in Numbers : x <= Max(read[n]) => x \in read[n]
(* Nobody folds what it does not know. *)
Understood == \A n \in Nodes : \A r \in log : r[1] \in read[n] => r[4] <= Version(n)
(* Nobody who lives is left behind by an upgrade. *)
NotLeft == \A n \in up : format <= Version(n)
(* Witnesses: must be violated. *)
NeverFound == \A n \in Nodes : ~(run[n][1] = "unsure" /\ Done(run[n][2]))
NeverLate == \A n \in Nodes : ~(run[n][1] = "unsure" /\ Flies(n))
NeverWaits == \A m \in Nodes : \A n \in Nodes \ {m} : ~(run[n][1] = "unsure" /\ lock[Key(run[n][2])] = m)
NeverNewer == format = 1
===============================================================================
