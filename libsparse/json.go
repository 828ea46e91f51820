package libsparse

import (
	"bytes"
	"encoding/json"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// ParseRequest reads a request. Unknown fields are errors: they are the caller's typing mistakes.
func ParseRequest(text []byte) (*Request, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &Request{}
	if err := d.Decode(r); err != nil {
		return nil, diag.Errorf(diag.Syntax, "the request is no valid JSON: %v", err)
	}
	if (r.Spec == "") == (r.Expr == "") {
		return nil, diag.Errorf(diag.Syntax, "the request has to have one of spec and expr")
	}
	return r, nil
}

// JSON is the kernel's description.
func (k *Kernel) JSON() []byte { return marshal(k) }

// FunctionsJSON lists the functions that expressions can call.
func FunctionsJSON() []byte { return marshal(index.Signatures()) }

// FormatsJSON describes the kinds of levels and the names of formats, for programs that hold tensors.
func FormatsJSON() []byte {
	return marshal(map[string]any{"levels": format.Describe(), "names": format.Names()})
}

// ErrorJSON is an error as the C interface reports it.
func ErrorJSON(err error) []byte { return marshal(diag.From(err)) }

// marshal encodes values of the package's own types, which always can be.
func marshal(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return out
}
