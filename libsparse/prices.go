package libsparse

import (
	"bufio"
	"encoding/json"
	"io"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/diag"
)

// Pricing is how a program that fits the cost model's constants asks what they lead to. It is a conversation: what in has
// first is a list of requests, and then each time constants, those that are left out being the default's. What is written
// is for each request a list of its orders, and then each time lists of what these cost.
func Pricing(in io.Reader, out io.Writer) error {
	d, e := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var requests []json.RawMessage
	if err := d.Decode(&requests); err != nil {
		return diag.Errorf(diag.Syntax, "the list of requests is no valid JSON: %v", err)
	}
	nests := make([]*autoschedule.Nest, len(requests))
	orders := make([][]string, len(requests))
	for i, text := range requests {
		r, err := ParseRequest(text)
		if err != nil {
			return err
		}
		r.Schedule = ";" // one nest
		s := &State{Request: r}
		if err := run(s, Pipeline()[:3], nil); err != nil {
			return err
		}
		nests[i] = autoschedule.NewNest(s.Assignment)
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
