package command

import (
	"encoding/json"
	"io"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/tensorfile"
)

// readTensor prints the entries of a file: a line that describes them, their coordinates, and their values as they are
// in memory.
func readTensor(out io.Writer, args []string) error {
	if len(args) != 2 {
		return usageError("read needs a path and options as JSON")
	}
	var o tensorfile.Options
	if err := json.Unmarshal([]byte(args[1]), &o); err != nil {
		return diag.Errorf(diag.Syntax, "the options %q are not JSON: %v", args[1], err)
	}
	t, err := tensorfile.Read(args[0], o)
	if err != nil {
		return err
	}
	h := t.Header()
	if err := json.NewEncoder(out).Encode(h); err != nil {
		return err
	}
	coords, values := make([]byte, h.CoordBytes()), make([]byte, h.ValueBytes())
	if err := t.CopyTo(coords, values); err != nil {
		return err
	}
	if _, err := out.Write(coords); err != nil {
		return err
	}
	_, err = out.Write(values)
	return err
}

// writeTensor writes a file from coordinates and values on the standard input, which a description precedes.
func writeTensor(in io.Reader, args []string) error {
	if len(args) != 2 {
		return usageError("write needs a path and a description of the tensor as JSON")
	}
	var h tensorfile.Header
	if err := json.Unmarshal([]byte(args[1]), &h); err != nil {
		return diag.Errorf(diag.Syntax, "the description %q is not JSON: %v", args[1], err)
	}
	if err := h.Check(); err != nil {
		return err
	}
	coords, values := make([]byte, h.CoordBytes()), make([]byte, h.ValueBytes())
	for _, array := range [][]byte{coords, values} {
		if _, err := io.ReadFull(in, array); err != nil {
			return err
		}
	}
	return tensorfile.Write(args[0], tensorfile.FromArrays(h, coords, values))
}
