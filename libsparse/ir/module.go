package ir

// Slot is one 64-bit word of a kernel's argument block: a scalar by value or the address of an array.
// Exactly one of Var and Array is set.
type Slot struct {
	Var   *Var
	Array *Array
	// Out marks a scalar that the function writes back when it returns OK.
	Out bool
	// Streams is the array that Var is about: a number other than zero says that it is too large for the caches.
	Streams *Array
	// Walk is the arrays that loops walk together with Array, coordinates, where these are to be brought near before.
	Walk *Walk
}

// Walk is arrays that loops read at the same places one after the other, as the entries of an operand.
type Walk struct {
	// Arrays begin with the coordinates.
	Arrays []*Array
	// Distance is how many places before they are read they are to be brought near.
	Distance int64
}

// Name is that of the variable or the array.
func (s Slot) Name() string {
	if s.Var != nil {
		return s.Var.Name
	}
	return s.Array.Name
}

// Func is one entry point of a kernel. All functions of a Module share its slots.
type Func struct {
	Name string
	Body *Block
}

// Module is one kernel: a slot block and the functions that take it.
type Module struct {
	// Doc is the header comment: expression, formats, schedule and why.
	Doc   []string
	Slots []Slot
	Funcs []*Func
}
