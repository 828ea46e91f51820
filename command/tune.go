package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/tune/bayes"
	"libsparse/libsparse/tune/space"
)

// search is one run of the tune command.
type search struct {
	scenario *space.Scenario
	tuner    *bayes.Tuner
	random   *rand.Rand
	method   string
	command  string
	limit    time.Duration
	log      io.Writer
	earlier  int // measurements in the log
}

// measured is a line of a log, and of the conversation with a program.
type measured struct {
	Point  texts   `json:"point"`
	Value  float64 `json:"value"`
	Failed bool    `json:"failed,omitempty"`
}

// UnmarshalJSON reads a measurement, which has a value or failed.
func (m *measured) UnmarshalJSON(text []byte) error {
	var read struct {
		Point  texts    `json:"point"`
		Value  *float64 `json:"value"`
		Failed bool     `json:"failed"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.Point != nil && read.Value == nil && !read.Failed {
		return errors.New("a point has a value, or failed")
	}
	m.Point, m.Failed = read.Point, read.Failed
	if read.Value != nil {
		m.Value = *read.Value
	}
	return nil
}

// texts are the values of a point by the names of parameters: numbers in JSON where they are numbers.
type texts map[string]string

// MarshalJSON writes numbers as such.
func (t texts) MarshalJSON() ([]byte, error) {
	values := map[string]any{}
	for name, text := range t {
		values[name] = text
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			values[name] = json.RawMessage(text)
		}
	}
	return json.Marshal(values)
}

// UnmarshalJSON reads numbers and strings.
func (t *texts) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*t = texts{}
	for name, value := range values {
		var plain string
		if json.Unmarshal(value, &plain) != nil {
			plain = string(value)
		}
		(*t)[name] = plain
	}
	return nil
}

// tune searches a space: with a command, which it runs for each point, or for a program that asks and tells.
func tune(in io.Reader, out io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("tune", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("space", "", "")
	command := flags.String("command", "", "")
	budget := flags.Int("budget", 0, "")
	seed := flags.Uint64("seed", 0, "")
	method := flags.String("method", "bayesian", "")
	limit := flags.Duration("timeout", 10*time.Minute, "")
	log := flags.String("log", "", "")
	known := flags.String("known", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return usageError("tune: %v; it takes -space, -command, -budget, -seed, -method, -timeout, -log and -known", errors.Join(err, extra(flags.Args())))
	}
	if *file == "" || !slices.Contains([]string{"bayesian", "uniform", "walk"}, *method) {
		return usageError("tune needs -space=FILE, and takes -method=bayesian, uniform or walk")
	}
	if *budget < 0 || *limit <= 0 {
		return usageError("tune: -budget is %d and -timeout %v; expected positive ones", *budget, *limit)
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return diag.Errorf(diag.Syntax, "the scenario can't be read: %v", err)
	}
	scenario, err := space.ReadScenario(text)
	if err != nil {
		return err
	}
	s := &search{scenario: scenario, random: rand.New(rand.NewPCG(*seed, 1)), method: *method, command: *command, limit: *limit, log: io.Discard}
	similar, err := s.known(*known)
	if err != nil {
		return err
	}
	s.tuner = bayes.New(scenario.Space, bayes.Options{
		Known: similar, First: scenario.First.Samples, Log: scenario.Log, Threshold: scenario.Feasible.Threshold, Seed: *seed,
	})
	if *log != "" {
		file, err := s.resume(*log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		s.log = file
	}
	if *command == "" {
		return s.serve(in, out)
	}
	if *budget == 0 {
		*budget = scenario.First.Samples + scenario.Iterations
	}
	return s.run(out, *budget)
}

func extra(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q is no option", args[0])
}

// resume tells the tuner what an earlier run has measured, and opens the log for more.
func (s *search) resume(name string) (*os.File, error) {
	earlier, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Errorf(diag.System, "%v", err)
	}
	whole := wholeLines(earlier)
	observations, err := s.observations(name, whole)
	if err != nil {
		return nil, err
	}
	for _, o := range observations {
		if err := s.tuner.Tell(o); err != nil {
			return nil, diag.Errorf(diag.Syntax, "%s is no log of this space: %v", name, err)
		}
		if s.method != "bayesian" { // the next point is the one behind this in the sequence of random ones
			if _, err := s.ask(); err != nil {
				return nil, err
			}
		}
		s.earlier++
	}
	if len(whole) < len(earlier) {
		if err := os.Truncate(name, int64(len(whole))); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
}

// wholeLines is a log without a line that was being written when the run ended; what else is at its end is no log's.
func wholeLines(text []byte) []byte {
	end := bytes.LastIndexByte(text, '\n') + 1
	if bytes.HasPrefix(text[end:], []byte("{")) {
		return text[:end]
	}
	return text
}

// known reads the log of a search for a similar objective, if there is one.
func (s *search) known(name string) ([]bayes.Observation, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, diag.Errorf(diag.System, "%v", err)
	}
	return s.observations(name, wholeLines(text))
}

// observations are the lines of a log.
func (s *search) observations(name string, text []byte) ([]bayes.Observation, error) {
	var all []bayes.Observation
	for line := range bytes.Lines(text) {
		var m measured
		if err := json.Unmarshal(line, &m); err != nil || m.Point == nil {
			return nil, diag.Errorf(diag.Syntax, "%s is no log of this command: %q", name, line)
		}
		o, err := s.observation(m)
		if err != nil {
			return nil, diag.Errorf(diag.Syntax, "%s is no log of this space: %v", name, err)
		}
		if s.scenario.Log && !o.Failed && o.Value <= 0 {
			return nil, diag.Errorf(diag.Syntax, "%s: %g has no logarithm", name, o.Value)
		}
		all = append(all, o)
	}
	return all, nil
}

func (s *search) ask() (space.Point, error) {
	switch s.method {
	case "uniform":
		return s.scenario.Space.Sample(s.random)
	case "walk":
		return s.scenario.Space.Walk(s.random)
	default:
		return s.tuner.Ask()
	}
}

// named is a point by the names of its parameters.
func (s *search) named(at space.Point) texts {
	named := texts{}
	for i, p := range s.scenario.Space.Params {
		named[p.Name] = p.Text(at[i])
	}
	return named
}

// observation is a measurement with the coordinates of its point.
func (s *search) observation(m measured) (o bayes.Observation, err error) {
	if len(m.Point) != len(s.scenario.Space.Params) {
		return o, diag.Errorf(diag.Syntax, "a point has %d values; the space has %d parameters", len(m.Point), len(s.scenario.Space.Params))
	}
	at := make(space.Point, len(s.scenario.Space.Params))
	for i, p := range s.scenario.Space.Params {
		x, err := p.Coordinate(m.Point[p.Name])
		if err != nil {
			return o, err
		}
		at[i] = x
	}
	return bayes.Observation{At: at, Value: m.Value, Failed: m.Failed}, nil
}

// run measures points with the command, and prints each; the best one comes last, as JSON.
func (s *search) run(out io.Writer, budget int) error {
	if !slices.ContainsFunc(s.scenario.Space.Params, func(p *space.Parameter) bool { return strings.Contains(s.command, "{"+p.Name+"}") }) {
		return usageError("the command %q has no value of a point, such as {%s}", s.command, s.scenario.Space.Params[0].Name)
	}
	for number := s.earlier; number < budget; number++ {
		at, err := s.ask()
		if errors.Is(err, bayes.ErrNoMore) {
			break
		}
		if err != nil {
			return err
		}
		m, why := s.measure(at)
		if err := s.tuner.Tell(bayes.Observation{At: at, Value: m.Value, Failed: m.Failed}); err != nil {
			return err
		}
		if err := json.NewEncoder(s.log).Encode(m); err != nil {
			return err
		}
		value := strconv.FormatFloat(m.Value, 'g', 6, 64)
		if m.Failed {
			value = "failed: " + why
		}
		best := "none"
		if o, ok := s.tuner.Best(); ok {
			best = strconv.FormatFloat(o.Value, 'g', 6, 64)
		}
		if _, err := fmt.Fprintf(out, "%4d %12s  best %s  %s\n", number+1, value, best, s.text(at)); err != nil {
			return err
		}
	}
	o, ok := s.tuner.Best()
	if !ok {
		return diag.Errorf(diag.Unsupported, "the command failed for all points that were measured")
	}
	return json.NewEncoder(out).Encode(measured{Point: s.named(o.At), Value: o.Value})
}

func (s *search) text(at space.Point) string {
	var parts []string
	for i, p := range s.scenario.Space.Params {
		parts = append(parts, p.Name+"="+p.Text(at[i]))
	}
	return strings.Join(parts, " ")
}

// serve answers a program, a line of JSON each: {"ask": 2} with two points, and a measured point, which has no answer.
func (s *search) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request struct {
			Ask int `json:"ask"`
		}
		var told measured
		err := errors.Join(json.Unmarshal(lines.Bytes(), &request), json.Unmarshal(lines.Bytes(), &told))
		if err != nil || (request.Ask < 1) == (told.Point == nil) {
			return diag.Errorf(diag.Syntax, `%q is neither {"ask": 1} nor {"point": {...}, "value": 1.5}`, lines.Text())
		}
		if told.Point != nil {
			o, err := s.observation(told)
			if err != nil {
				return err
			}
			if err := s.tuner.Tell(o); err != nil {
				return err
			}
			if err := json.NewEncoder(s.log).Encode(told); err != nil {
				return err
			}
			continue
		}
		points := []texts{}
		for range request.Ask {
			at, err := s.ask()
			if errors.Is(err, bayes.ErrNoMore) {
				break // fewer points than were asked for say so
			}
			if err != nil {
				return err
			}
			points = append(points, s.named(at))
		}
		if err := json.NewEncoder(out).Encode(points); err != nil {
			return err
		}
	}
	return lines.Err()
}
