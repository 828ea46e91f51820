// Package asymptotic finds the loop nests of an expression that no other stays asymptotically below: a program leaves when
// another never does more work, up to a constant, and for some inputs does less. It is offline: it enumerates every
// program of least depth, from a few to millions, and sees formats, never extents or coordinates. It is the referee of the
// online scheduler and gives tuners the programs to start from. It must not measure, nor know how loops become code.
//
// The method is that of Ahrens, Kjolstad and Amarasinghe, "Autoscheduling for Sparse Tensor Algebra with an Asymptotic Cost
// Model"; section numbers are the paper's.
//
//	rewrite.go    7.1 rewrites: associativity and commutativity are in the terms, products are distributed over sums
//	group.go      7.2 where groupings, named by depth
//	place.go      7.3 the loops of each side of a where, 7.4 least depth, 7.5 the workspaces' indices
//	enumerate.go  7.3 loop orders, 7.6 protocols; subset.go is what TACO can compile of it
//	count.go          how many programs there are, before they are made
//	node.go       4   programs, hash-consed: a statement of many programs is one number
//	cost.go       6.4 the task sets of a program, remembered by statement and situation
//	query.go      6.1 conjunctive queries, homomorphisms, 6.2 minimal queries under assumptions
//	logic.go      6.1 unions of queries, interned by meaning
//	tasks.go      6.1 containment of task sets, whose heads are closed under subsets and permutations; 6.2 sunk costs
//	front.go      6.3 the frontier, kept while programs are enumerated
//	explore.go        a part of the universe; frontier.go divides it between workers
//	program.go    4   programs as concrete index notation with protocols; print.go
//	choice.go         schedules from elsewhere compared with a frontier; peers.go with their like
//	kernels.go    7.8 programs as schedule commands and formats
//
// Programs are never compared: their costs are, which are sets of interned task sets, and there are few of them. docs/asymptotic.md
// has the paper's table and the differences.
package asymptotic
