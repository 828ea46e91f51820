package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
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
}

// measured is a line of a log, and of the conversation with a program.
type measured struct {
	Point  map[string]string `json:"point"`
	Value  float64           `json:"value"`
	Failed bool              `json:"failed,omitempty"`
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
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return usageError("tune: %v; it takes -space, -command, -budget, -seed, -method, -timeout and -log", errors.Join(err, extra(flags.Args())))
	}
	if *file == "" || !slices.Contains([]string{"bayesian", "uniform", "walk"}, *method) {
		return usageError("tune needs -space=FILE, and takes -method=bayesian, uniform or walk")
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
	s.tuner = bayes.New(scenario.Space, bayes.Options{
		First: scenario.First.Samples, Log: scenario.Log, Threshold: scenario.Feasible.Threshold, Seed: *seed,
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
	lines := json.NewDecoder(bytes.NewReader(earlier))
	for lines.More() {
		var m measured
		if err := lines.Decode(&m); err != nil {
			return nil, diag.Errorf(diag.Syntax, "%s is no log of this command: %v", name, err)
		}
		if err := s.tell(m); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
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
func (s *search) named(at space.Point) map[string]string {
	texts := map[string]string{}
	for i, p := range s.scenario.Space.Params {
		texts[p.Name] = p.Text(at[i])
	}
	return texts
}

func (s *search) tell(m measured) error {
	at := make(space.Point, len(s.scenario.Space.Params))
	for i, p := range s.scenario.Space.Params {
		x, err := p.Coordinate(m.Point[p.Name])
		if err != nil {
			return err
		}
		at[i] = x
	}
	return s.tuner.Tell(bayes.Observation{At: at, Value: m.Value, Failed: m.Failed})
}

// run measures points with the command, and prints each; the best one comes last, as JSON.
func (s *search) run(out io.Writer, budget int) error {
	for number := range budget {
		at, err := s.ask()
		if err != nil {
			return err
		}
		m := s.measure(at)
		if err := s.tuner.Tell(bayes.Observation{At: at, Value: m.Value, Failed: m.Failed}); err != nil {
			return err
		}
		if err := json.NewEncoder(s.log).Encode(m); err != nil {
			return err
		}
		value := strconv.FormatFloat(m.Value, 'g', 6, 64)
		if m.Failed {
			value = "failed"
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
		return diag.Errorf(diag.Unsupported, "the command failed for all of %d points", budget)
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

// number is what the last number on the output of a command looks like.
var number = regexp.MustCompile(`[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?`)

// measure runs the command with the values of a point in the places of {name}: the last number that it prints is the
// value. It failed if it ends with another status than 0, prints no number, or takes too long.
func (s *search) measure(at space.Point) measured {
	m := measured{Point: s.named(at), Failed: true}
	line := s.command
	for name, text := range m.Point {
		line = strings.ReplaceAll(line, "{"+name+"}", text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.limit)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", line)
	command.WaitDelay = time.Second
	command.Stderr = os.Stderr
	printed, err := command.Output()
	found := number.FindAllString(string(printed), -1)
	if err != nil || len(found) == 0 {
		return m
	}
	value, err := strconv.ParseFloat(found[len(found)-1], 64)
	if err != nil || (s.scenario.Log && value <= 0) || math.IsInf(value, 0) {
		return m
	}
	m.Value, m.Failed = value, false
	return m
}

// serve answers a program, a line of JSON each: {"ask": 2} with two points, and a measured point, which has no answer.
func (s *search) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request struct {
			Ask int `json:"ask"`
			measured
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil || (request.Ask < 1) == (request.Point == nil) {
			return diag.Errorf(diag.Syntax, `%q is neither {"ask": 1} nor {"point": {...}, "value": 1.5}`, lines.Text())
		}
		if request.Point != nil {
			if err := s.tell(request.measured); err != nil {
				return err
			}
			if err := json.NewEncoder(s.log).Encode(request.measured); err != nil {
				return err
			}
			continue
		}
		points := []map[string]string{}
		for range request.Ask {
			at, err := s.ask()
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
