// Package asymptotic finds the asymptotic frontier of an expression: the loop nests that no other dominates. One program dominates
// another if it never does more work, up to a constant factor, and does less for some inputs.
//
// The search is offline: it enumerates every program of least depth, from a few to millions. It sees formats, never extents or
// coordinates. The frontier judges the online scheduler's choices, and gives tuners the programs to start from. The package must
// not measure, nor know how loops become code.
//
// The method is that of Ahrens, Kjolstad and Amarasinghe, "Autoscheduling for Sparse Tensor Algebra with an Asymptotic Cost
// Model"; section numbers are the paper's.
//
//	rewrite.go    7.1 algebraic rewrites: terms are equal up to associativity and commutativity; products are distributed over sums
//	group.go      7.2 where groupings, named by depth
//	place.go      7.3 the loops of each side of a where, 7.4 least depth, 7.5 the workspaces' indices
//	enumerate.go  7.3 loop orders, 7.6 protocols; subset.go restricts both to the programs that TACO can compile
//	count.go          how many programs there are, before they are made
//	node.go       4   programs, hash-consed: equal statements are one node, whose number is compared
//	cost.go       6.4 the cost of a program, as a union of task sets; computed once for each statement in each situation
//	query.go      6.1 conjunctive queries, homomorphisms, 6.2 minimal queries under assumptions
//	logic.go      6.1 unions of queries, interned by meaning
//	tasks.go      6.1 containment of task sets, up to subsets and permutations of their heads; 6.2 sunk costs
//	front.go      6.3 the frontier of the programs enumerated so far
//	explore.go        one worker's part of the enumeration; frontier.go divides the programs between workers
//	program.go    4   programs as concrete index notation with protocols; print.go
//	compare.go        where a given schedule stands on a frontier; orders.go has the frontier of its loop orders alone
//	kernels.go    7.8 programs as schedule commands and formats
//
// Costs are compared, not programs: costs are sets of interned task sets, and far fewer than programs. docs/asymptotic.md has the
// paper's table and the differences.
package asymptotic
