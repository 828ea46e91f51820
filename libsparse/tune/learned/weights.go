package learned

import (
	_ "embed"
	"sync"
)

//go:embed weights.bin
var weights []byte

// Default is the model that comes with the compiler.
var Default = sync.OnceValues(func() (*Model, error) { return Read(weights) })
