// Package kernels searches the schedules of a request: it builds the space of what the compiler can be told, and proposes points of
// it as the text of schedules.
//
// Every point that it proposes has been lowered, to other C than those before it. It must not compile or measure.
package kernels
