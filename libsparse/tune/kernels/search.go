package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/pattern"
	"libsparse/libsparse/schedule"
	"libsparse/libsparse/tune/bayes"
	"libsparse/libsparse/tune/learned"
	"libsparse/libsparse/tune/space"
)

// The methods.
const (
	bayesian = "bayesian"
	byModel  = "learned"
)

const (
	nearby = 8 // points that differ from the compiler's choice in one parameter, each in another, which are measured first
	moves  = 4 // parameters at most in which a random point differs from one that was proposed
)

// Options say how a search goes.
type Options struct {
	Seed uint64 `json:"seed"`
	// Method is "bayesian", the default, or "learned": the most promising points of the learned model, whatever measurements say.
	Method string `json:"method"`
	// Advised has the Bayesian tuner begin with what the learned model finds promising.
	Advised bool `json:"advised"`
	// First is the number of points before measurements choose the next; a few by default.
	First int `json:"first"`
	// Formats are those that an operand may be converted to, by its name, where its entries are known.
	Formats map[string][]string `json:"formats"`
	// Patterns are the features of sparse operands, by their names; see package pattern.
	Patterns map[string]pattern.Numbers `json:"patterns"`
}

// Proposal is a schedule to measure.
type Proposal struct {
	// Point has the text of each parameter's value.
	Point map[string]string `json:"point"`
	// Schedule is the commands; Default says that they are the compiler's own.
	Schedule string `json:"schedule"`
	Default  bool   `json:"default,omitempty"`
	// Expected is by how much it is expected to be faster than the fastest of those before, as a logarithm to base 2, where the learned model has
	// proposed it.
	Expected float64 `json:"expected"`
}

// Result is a measurement of a point: seconds, or that there are none.
type Result struct {
	Point   map[string]string `json:"point"`
	Seconds float64           `json:"seconds"`
	Failed  bool              `json:"failed"`
}

// Search proposes schedules of a request. It is not for use by several goroutines at once.
type Search struct {
	request *libsparse.Request
	backend backend.Backend
	nest    *libsparse.Nest
	space   *parameters
	points  *space.Space
	tuner   *bayes.Tuner
	choice  *choice // by the learned model, where it is asked
	options Options
	known   []space.Point // proposed or told
	names   map[string]bool
	terms   autoschedule.Terms // of the compiler's choice, as the cost model has it
	cost    float64            // their sum
	sight   *sight
	layout  []int // the parameters that say in what order and format everything is read

	texts map[string]string // by point: the schedule
	codes map[string]bool   // formats and C of what was proposed
}

// New makes a search for the schedules of a request.
//
// What takes several steps, and what is not scheduled, is an error.
func New(r *libsparse.Request, b backend.Backend, o Options) (*Search, error) {
	automatic := *r
	automatic.Schedule = ""
	unit, err := libsparse.Lower(&automatic, b)
	if err != nil {
		return nil, err
	}
	if len(unit.Nests) > 1 {
		return nil, diag.Errorf(diag.Unsupported, "the computation takes several steps; tune each by itself")
	}
	nest, err := libsparse.Single(&automatic, b)
	if err != nil {
		return nil, err
	}
	decision := unit.Nests[0].Decision
	if n := len(decision.Order); n == 0 || n > mostLoops {
		return nil, diag.Errorf(diag.Unsupported, "%s: there is nothing to choose; expected 1 to %d loops that are scheduled, not %d", nest.Assignment, mostLoops, n)
	}
	s := &Search{
		request: &automatic, backend: b, nest: nest, options: o, terms: decision.Terms, cost: decision.Terms.Sum(), names: map[string]bool{},
		texts: map[string]string{}, codes: map[string]bool{},
	}
	for _, acc := range append(index.Accesses(nest.Assignment.RHS), nest.Assignment.LHS) {
		s.names[acc.Tensor.Name] = true
		for _, v := range acc.Vars {
			s.names[string(v)] = true
		}
	}
	s.space = describe(nest.Assignment, decision.Order, o.Formats)
	if s.points, err = space.New(s.space.params, s.space.constraints); err != nil {
		return nil, err
	}
	s.points.Default = s.space.origin
	s.codes[unit.Nests[0].Code()] = true
	s.texts[key(s.space.origin)] = text(decision.Complete())
	s.known = []space.Point{s.space.origin}
	s.layout = layoutOf(s.space, append(nest.Assignment.Tensors(), nest.Assignment.LHS.Tensor))
	s.sight = s.look(o.Patterns)
	return s, s.options.check()
}

// check says whether there is such a method.
func (o Options) check() error {
	if o.Method != "" && o.Method != bayesian && o.Method != byModel {
		return diag.Errorf(diag.Syntax, "there is no method %q; there are %s and %s", o.Method, bayesian, byModel)
	}
	return nil
}

// begin makes the tuner, or ranks points, unless that was done before.
func (s *Search) begin() error {
	if s.tuner != nil {
		return nil
	}
	o := s.options
	options := bayes.Options{Log: true, Seed: o.Seed, Feasible: s.feasible, Sample: s.sample}
	if o.Method == byModel || o.Advised {
		model, err := learned.Default()
		if err != nil {
			return err
		}
		s.choice = newChoice(s.rank(model), s.space.origin, o.Seed)
	}
	if o.Advised {
		s.advise(&options)
	}
	if o.Method != byModel && options.Starts == nil {
		options.Starts = s.neighbours(o.Seed)
	}
	options.First = max(o.First, 1+len(options.Starts))
	s.tuner = bayes.New(s.points, options)
	return nil
}

// Ask proposes a schedule that can be lowered, with other C than those before; the first is the compiler's own. ok is false where there
// is none left.
func (s *Search) Ask() (p Proposal, ok bool, err error) {
	if err := s.begin(); err != nil {
		return p, false, err
	}
	if s.options.Method == byModel {
		at, gain, ok := s.next()
		if !ok {
			return p, false, nil
		}
		p = s.proposal(at)
		p.Expected = gain
		return p, true, nil
	}
	at, err := s.tuner.Ask()
	if err == bayes.ErrNoMore { //nolint:errorlint // a sentinel that is never wrapped
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	s.known = append(s.known, at)
	return s.proposal(at), true, nil
}

// next is the compiler's choice, and then the most promising point of the model, of those that were neither proposed nor told.
func (s *Search) next() (at space.Point, gain float64, ok bool) {
	if len(s.known) == 1 {
		s.known = append(s.known, s.space.origin)
		return s.space.origin, 0, true
	}
	known := func(at space.Point) bool {
		return slices.ContainsFunc(s.known, func(other space.Point) bool { return slices.Equal(at, other) })
	}
	at, gain, ok = s.choice.next(known, s.feasible)
	if ok {
		s.known = append(s.known, at)
	}
	return at, gain, ok
}

// proposal is a point that can be lowered.
func (s *Search) proposal(at space.Point) Proposal {
	p := Proposal{Point: map[string]string{}, Schedule: s.texts[key(at)], Default: slices.Equal(at, s.space.origin)}
	for i, param := range s.space.params {
		p.Point[param.Name] = param.Text(at[i])
	}
	return p
}

// Tell says what the measurement of a point gave, whether it was proposed or is known from before.
func (s *Search) Tell(r Result) error {
	at := make(space.Point, len(s.space.params))
	for i, param := range s.space.params {
		x, err := param.Coordinate(r.Point[param.Name])
		if err != nil {
			return err
		}
		at[i] = x
	}
	if err := s.begin(); err != nil {
		return err
	}
	if !slices.Equal(at, s.space.origin) {
		s.feasible(at) // its C is known from now on
	}
	s.known = append(s.known, at)
	return s.tuner.Tell(bayes.Observation{At: at, Value: r.Seconds, Failed: r.Failed})
}

// Size says how many points satisfy the constraints, and what the parameters are.
func (s *Search) Size() string {
	size := s.points.Size()
	var names []string
	for _, p := range s.space.params {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("%s points of %s", size, strings.Join(names, ", "))
}

// feasible lowers a point, unless that was done before; it keeps the schedule if no other point has the same C.
func (s *Search) feasible(at space.Point) bool {
	if !s.points.Contains(at) {
		return false
	}
	name := key(at)
	if known, ok := s.texts[name]; ok {
		return known != ""
	}
	s.texts[name] = ""
	alternatives, err := s.commands(at)
	if err != nil {
		return false
	}
	for _, commands := range alternatives {
		found, ok := s.lower(text(commands))
		if !ok {
			continue
		}
		if s.codes[found] {
			return false
		}
		s.codes[found] = true
		s.texts[name] = text(commands)
		return true
	}
	return false
}

// lower is the formats and the C of a schedule, if it can be carried out.
func (s *Search) lower(schedule string) (string, bool) {
	scheduled := *s.request
	scheduled.Schedule = schedule
	unit, err := libsparse.Lower(&scheduled, s.backend)
	if err != nil || len(unit.Nests) > 1 {
		return "", false
	}
	return unit.Nests[0].Code(), true
}

// neighbours are points that differ from the compiler's choice in one parameter, each in another.
func (s *Search) neighbours(seed uint64) (found []space.Point) {
	random := rand.New(rand.NewPCG(seed, 1))
	var all []space.Point
	s.points.Neighbours(s.space.origin, random, func(at space.Point) { all = append(all, slices.Clone(at)) })
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	changed := map[int]bool{}
	for _, at := range all {
		param := slices.IndexFunc(s.space.params, func(p *space.Parameter) bool {
			place := s.space.places[p.Name]
			return at[place] != s.space.origin[place]
		})
		if len(found) < nearby && !changed[param] && s.feasible(at) {
			changed[param] = true
			found = append(found, at)
		}
	}
	return found
}

// sample is a point that differs from a known one in a few parameters. Most points of the space cut every loop, and are no good.
func (s *Search) sample(random *rand.Rand) (space.Point, error) {
	at := slices.Clone(s.known[random.IntN(len(s.known))])
	for range 1 + random.IntN(moves) {
		for range 16 { // until constraints are satisfied
			param := random.IntN(len(at))
			before := at[param]
			at[param] = float64(random.IntN(s.space.params[param].Size()))
			if s.points.Contains(at) {
				break
			}
			at[param] = before
		}
	}
	return at, nil
}

func text(commands []schedule.Command) string {
	parts := make([]string, len(commands))
	for i, c := range commands {
		parts[i] = c.String()
	}
	return strings.Join(parts, "; ")
}

// key is a point as the key of a map.
func key(at space.Point) string {
	text := make([]byte, 0, 8*len(at))
	for _, x := range at {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(x))
	}
	return string(text)
}
