package command

import (
	"strconv"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/index"
)

// defaultExtent is the extent of an index that nothing else gives, defaultFill how many entries a row of a sparse operand
// has. An expression that is run with random operands has a smaller default.
const (
	defaultExtent = 4096
	runExtent     = 100
	defaultFill   = 16
)

// options are the values of the flags; those of tensors and indices are by name.
type options struct {
	formats, types, files map[string]string
	extents               map[string]int64
	shapes                map[string][]int64
	fills                 map[string]float64
	schedule              []string
	functions             []libsparse.Function
	stage, output         string
	repeat, threads       int
	check, priors         bool
	extent                int64 // of an index that nothing else gives
}

const allowed = "-f=TENSOR:FORMAT[:MODES] -t=TENSOR:DTYPE -d=INDEX:EXTENT -d=TENSOR:AxB -s=SCHEDULE -stage=NAME " +
	"-i=TENSOR:FILE -o=FILE -fill=TENSOR:DENSITY -time=N -threads=N -check -priors " +
	"-u=FUNCTION:BODY[@REGION]"

func newOptions() *options {
	return &options{
		formats: map[string]string{}, types: map[string]string{}, files: map[string]string{}, extents: map[string]int64{},
		shapes: map[string][]int64{}, fills: map[string]float64{}, threads: 1, extent: defaultExtent,
	}
}

// set reads one flag.
func (o *options) set(flag string) error {
	name, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	if !strings.HasPrefix(flag, "-") || !ok && name != "check" && name != "priors" {
		return usageError("%q is no option; the options are %s", flag, allowed)
	}
	switch name {
	case "s":
		o.schedule = append(o.schedule, value)
		return nil
	case "stage":
		o.stage = value
		return nil
	case "o":
		o.output = value
		return nil
	case "check":
		o.check = true
		return nil
	case "priors":
		o.priors = true
		return nil
	case "time":
		return count(flag, value, &o.repeat)
	case "threads":
		return count(flag, value, &o.threads)
	default:
		return o.setNamed(flag, name, value)
	}
}

// count reads a positive number.
func count(flag, value string, into *int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1<<20 {
		return usageError("%q: %q is no number of times", flag, value)
	}
	*into = n
	return nil
}

// setNamed reads a flag about one tensor or index.
func (o *options) setNamed(flag, name, value string) error {
	key, rest, pair := strings.Cut(value, ":")
	if !pair || key == "" {
		return usageError("%q is no option; the options are %s", flag, allowed)
	}
	switch name {
	case "f":
		o.formats[key] = rest
	case "t":
		o.types[key] = rest
	case "i":
		o.files[key] = rest
	case "u":
		return o.function(key, rest)
	case "d":
		return o.setExtents(flag, key, rest)
	case "fill":
		x, err := strconv.ParseFloat(rest, 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return usageError("%q: %q is no density from 0 to 1", flag, rest)
		}
		o.fills[key] = x
	default:
		return usageError("%q is no option; the options are %s", flag, allowed)
	}
	return nil
}

// function reads the definition of a function: f(a,b) and a * b, perhaps with @ and a region.
func (o *options) function(head, text string) error {
	name, params, ok := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	if !ok {
		return usageError("-u=%s:%s: expected a function such as -u=f(a,b):a*b@a&~b", head, text)
	}
	body, region, _ := strings.Cut(text, "@")
	f := libsparse.Function{Name: name, Cases: []index.CaseText{{Body: body, Region: region}}}
	for p := range strings.SplitSeq(params, ",") {
		f.Params = append(f.Params, strings.TrimSpace(p))
	}
	o.functions = append(o.functions, f)
	return nil
}

// setExtents reads the extent of an index, or those of a tensor.
func (o *options) setExtents(flag, key, text string) error {
	var shape []int64
	for _, part := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return usageError("%q: %q is no extent", flag, text)
		}
		shape = append(shape, n)
	}
	o.shapes[key] = shape
	if len(shape) == 1 {
		o.extents[key] = shape[0]
	}
	return nil
}
