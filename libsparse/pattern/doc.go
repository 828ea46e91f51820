// Package pattern describes where a tensor has entries by a few dozen numbers, of a sample whose size is bounded, so that a large pattern
// takes little longer than a small one.
//
// It reads the arrays of levels and must not know about expressions, schedules or what the numbers are for.
package pattern
