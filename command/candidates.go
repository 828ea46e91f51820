package command

import (
	"encoding/json"
	"io"
	"slices"

	"libsparse/codegen/native"
	"libsparse/libsparse/candidates"
)

// printCandidates prints the schedules of the expression that args describe.
func printCandidates(in io.Reader, out io.Writer, args []string) error {
	plain := slices.Contains(args, "-plain")
	r, _, err := request(in, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-plain" }))
	if err != nil {
		return err
	}
	found, err := candidates.List(r, native.New(), plain)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", " ")
	return e.Encode(found)
}
