// Package prices tells programs that fit the cost model's constants what these lead to.
//
// It must not choose schedules or compile.
package prices

import (
	"bufio"
	"encoding/json"
	"io"

	"libsparse/libsparse"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/diag"
)

// Serve answers one program. It reads a list of requests, and writes the possible orders of the loops of each. Then it reads
// constants until the input ends, those that are left out being the default's, and writes each time what the orders cost.
func Serve(in io.Reader, out io.Writer, b backend.Backend) error {
	d, e := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var requests []json.RawMessage
	if err := d.Decode(&requests); err != nil {
		return diag.Errorf(diag.Syntax, "the list of requests is no valid JSON: %v", err)
	}
	nests := make([]*autoschedule.Nest, len(requests))
	orders := make([][]string, len(requests))
	for i, text := range requests {
		r, err := libsparse.ParseRequest(text)
		if err != nil {
			return err
		}
		n, err := libsparse.Single(r, b)
		if err != nil {
			return err
		}
		nests[i] = autoschedule.NewNest(n.Assignment)
		orders[i] = nests[i].Orders()
	}
	if err := e.Encode(orders); err != nil {
		return err
	}
	for {
		c, _ := autoschedule.ConstantsFor("")
		tried := *c
		if err := d.Decode(&tried); err == io.EOF {
			return nil
		} else if err != nil {
			return diag.Errorf(diag.Syntax, "the constants are no valid JSON: %v", err)
		}
		costs := make([][]float64, len(nests))
		for i, n := range nests {
			costs[i] = n.Costs(&tried)
		}
		if err := e.Encode(costs); err != nil {
			return err
		}
	}
}
