-------------------------------- MODULE Mail --------------------------------
(* Messages that wait in inboxes until they are accepted, as                 *)
(* src/model/mail.ts decides and src/runtime/{send,mail-inbox}.ts record it. *)
(* Whoever sends or accepts may never hear what became of it (the node died, *)
(* the line broke) and tries again with the same id, on any node.  An accept *)
(* looks which message waits (Pick) and may be paused for any time before    *)
(* its transaction (Take), which looks again.                                *)
(*   java -cp tla2tools.jar tlc2.TLC -config Safe.cfg Mail.tla               *)
EXTENDS Integers, FiniteSets

CONSTANTS MaxMessage, MaxSession, MaxAct, MaxSends,
          SendOnce,   \* an id that is known is not sent again
          Recheck,    \* an accept finds in its own transaction that the message waits
          KeepAct,    \* an accept that is tried again finds what it has accepted
          Together,   \* accepted and delivered is one transaction
          CheckBox,   \* a message is accepted for the session it was sent to
          Bury,       \* what waits for a session dies with it, in one transaction
          CheckAlive, \* nothing is sent to a session that is gone
          CheckReply  \* only what was delivered is answered

Messages == 1..MaxMessage
Sessions == 1..MaxSession
Acts == 1..MaxAct
(* The first session gets all messages but the last, and all accepts but the last: there they race. *)
To(m) == IF m = MaxMessage THEN MaxSession ELSE 1
Box(a) == IF a = MaxAct THEN MaxSession ELSE 1

VARIABLES
  st,       \* where each message is
  sent,     \* history: how often it was recorded as sent
  sends,    \* history: how often somebody tried to send it
  acked,    \* history: messages whose sender was told yes
  saw,      \* memory: what an accept has picked, 0 for nothing
  got,      \* history: what each accept has recorded as its own
  told,     \* history: what whoever accepted was told, 0 for nothing
  hands,    \* history: sessions that each message was given to
  alive,    \* sessions that are there
  answered  \* history: messages that were answered

vars == <<st, sent, sends, acked, saw, got, told, hands, alive, answered>>

Init == /\ st = [m \in Messages |-> "none"] /\ sent = [m \in Messages |-> 0] /\ sends = [m \in Messages |-> 0]
        /\ acked = {} /\ saw = [a \in Acts |-> 0] /\ got = [a \in Acts |-> {}] /\ told = [a \in Acts |-> 0]
        /\ hands = [m \in Messages |-> {}] /\ alive = [s \in Sessions |-> TRUE] /\ answered = {}

New(m) == st[m] = "none" \/ ~SendOnce
(* Recorded, or known already; the answer may be lost. *)
Send(m) == /\ sends[m] < MaxSends
           /\ (CheckAlive /\ New(m) => alive[To(m)])
           /\ sends' = [sends EXCEPT ![m] = @ + 1]
           /\ st' = IF New(m) THEN [st EXCEPT ![m] = "waiting"] ELSE st
           /\ sent' = IF New(m) THEN [sent EXCEPT ![m] = @ + 1] ELSE sent
           /\ (acked' = acked \/ acked' = acked \cup {m})
           /\ UNCHANGED <<saw, got, told, hands, alive, answered>>
Pick(a, m) == /\ saw[a] = 0 /\ told[a] = 0 /\ st[m] = "waiting" /\ (CheckBox => To(m) = Box(a))
              /\ (KeepAct => got[a] = {})
              /\ saw' = [saw EXCEPT ![a] = m]
              /\ UNCHANGED <<st, sent, sends, acked, got, told, hands, alive, answered>>
Take(a) == LET m == saw[a] IN
  /\ m # 0 /\ (Recheck => st[m] = "waiting")
  /\ st' = [st EXCEPT ![m] = IF Together THEN "delivered" ELSE "accepted"]
  /\ hands' = IF Together THEN [hands EXCEPT ![m] = @ \cup {Box(a)}] ELSE hands
  /\ got' = [got EXCEPT ![a] = @ \cup {m}]
  /\ saw' = [saw EXCEPT ![a] = 0]
  /\ (told' = told \/ told' = [told EXCEPT ![a] = m])
  /\ UNCHANGED <<sent, sends, acked, alive, answered>>
(* It was taken by somebody else, or whoever accepted has died before. *)
Miss(a) == saw[a] # 0 /\ saw' = [saw EXCEPT ![a] = 0] /\ UNCHANGED <<st, sent, sends, acked, got, told, hands, alive, answered>>
(* Tried again: the answer is what was recorded. *)
Again(a) == /\ KeepAct /\ told[a] = 0 /\ saw[a] = 0
            /\ \E m \in got[a] : told' = [told EXCEPT ![a] = m]
            /\ UNCHANGED <<st, sent, sends, acked, saw, got, hands, alive, answered>>
(* Where the two are not one: it is delivered later, or never. *)
Deliver(m) == /\ st[m] = "accepted"
              /\ st' = [st EXCEPT ![m] = "delivered"] /\ hands' = [hands EXCEPT ![m] = @ \cup {To(m)}]
              /\ UNCHANGED <<sent, sends, acked, saw, got, told, alive, answered>>
Crash(m) == st[m] = "accepted" /\ st' = [st EXCEPT ![m] = "lost"] /\ UNCHANGED <<sent, sends, acked, saw, got, told, hands, alive, answered>>
Delete(s) == /\ alive[s] /\ alive' = [alive EXCEPT ![s] = FALSE]
             /\ st' = IF Bury THEN [m \in Messages |-> IF st[m] = "waiting" /\ To(m) = s THEN "dead" ELSE st[m]] ELSE st
             /\ UNCHANGED <<sent, sends, acked, saw, got, told, hands, answered>>
Reply(m) == /\ m \notin answered /\ st[m] # "none" /\ (CheckReply => st[m] = "delivered")
            /\ answered' = answered \cup {m}
            /\ UNCHANGED <<st, sent, sends, acked, saw, got, told, hands, alive>>

Next == \/ \E m \in Messages : Send(m) \/ Deliver(m) \/ Crash(m) \/ Reply(m)
        \/ \E a \in Acts : Take(a) \/ Miss(a) \/ Again(a) \/ (\E m \in Messages : Pick(a, m))
        \/ \E s \in Sessions : Delete(s)
Spec == Init /\ [][Next]_vars

(* M1 *)
NeverLost == \A m \in acked : st[m] \in {"waiting", "accepted", "delivered", "dead"}
RightHands == \A m \in Messages : hands[m] \subseteq {To(m)}
NoGhost == \A m \in Messages : st[m] = "waiting" => alive[To(m)]
(* M2 *)
NeverTwice == \A m \in Messages : Cardinality({a \in Acts : m \in got[a]}) <= 1
OneEach == \A a \in Acts : Cardinality(got[a]) <= 1
ToldRight == \A a \in Acts : told[a] # 0 => told[a] \in got[a]
(* M4 *)
ReplyRight == \A m \in answered : st[m] = "delivered"
(* M5 *)
SentOnce == \A m \in Messages : sent[m] <= 1

(* Witnesses: must be violated. *)
NeverDelivered == \A m \in Messages : st[m] # "delivered"
NeverDead == \A m \in Messages : st[m] # "dead"
NeverRace == \A a, b \in Acts : a # b /\ saw[a] # 0 => saw[a] # saw[b]
NeverDoubled == \A m \in Messages : sends[m] < 2
NeverForgotten == \A a \in Acts : got[a] # {} => told[a] # 0
=============================================================================
