// Command libsparse is the compiler as an executable of its own, without cgo: for development, and for other processors.
package main

import (
	"os"

	"libsparse/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
