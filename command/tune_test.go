package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const twoParameters = `{"design_of_experiment": {"number_of_samples": 4}, "optimization_iterations": 11, "log_transform_output": true,
	"input_parameters": {
		"a": {"parameter_type": "ordinal", "values": [1, 2, 4, 8, 16, 32], "transform": "log"},
		"b": {"parameter_type": "integer", "values": [1, 9], "constraints": ["b <= a"]}}}`

// scenario writes a scenario to a file.
func scenario(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTuneRunsACommand(t *testing.T) {
	file := scenario(t, twoParameters)
	log := filepath.Join(t.TempDir(), "log")
	command := "test {a} -ne 32 && echo time $(( ({a} - 8) * ({a} - 8) + ({b} - 3) * ({b} - 3) + 1 ))"
	var out bytes.Buffer
	if err := run([]string{"tune", "-space=" + file, "--command", command, "-log=" + log}, nil, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var best measured
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &best); err != nil || len(lines) != 16 {
		t.Fatal(err, out.String())
	}
	if best.Point["a"] != "8" || best.Value > 5 {
		t.Errorf("15 measurements came to %v", best)
	}

	// The log of a similar search is a start: of the few points that are measured, one is the best.
	out.Reset()
	if err := run([]string{"tune", "-space=" + file, "-command", command, "-known=" + log, "-budget=8"}, nil, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"a":8`) {
		t.Errorf("with a log, 8 measurements came to %s", out.String())
	}

	// The log counts as measured: the 18 points that are left of 33 are proposed, then the search ends.
	out.Reset()
	err := run([]string{"tune", "-space=" + file, "-command", command, "-log=" + log, "-budget=40"}, nil, &out)
	if err != nil || strings.Count(out.String(), "\n") != 19 || !strings.HasPrefix(out.String(), "  16 ") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestTuneEndsWhatACommandHasBegun(t *testing.T) {
	file, left := scenario(t, twoParameters), filepath.Join(t.TempDir(), "left")
	command := "(sleep 2; touch " + left + ") & echo {a}; wait"
	if err := run([]string{"tune", "-space=" + file, "-command", command, "-timeout=200ms", "-budget=1"}, nil, &bytes.Buffer{}); err == nil {
		t.Error("a command that took too long was measured")
	}
	time.Sleep(2500 * time.Millisecond)
	if _, err := os.Stat(left); err == nil {
		t.Error("a process of the command went on")
	}
}

func TestTuneKeepsFilesOfOthers(t *testing.T) {
	file, notes := scenario(t, twoParameters), filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(notes, []byte("no log"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"tune", "-space=" + file, "-command=echo {a}", "-log=" + notes, "-budget=1"}, nil, &bytes.Buffer{}); err == nil {
		t.Error("a file of somebody else's is taken for a log")
	}
	if text, err := os.ReadFile(notes); err != nil || string(text) != "no log" {
		t.Error("it is", string(text), err)
	}
}

func TestTuneServes(t *testing.T) {
	file := scenario(t, twoParameters)
	var out bytes.Buffer
	in := strings.NewReader(`{"ask": 2}
{"point": {"a": "4", "b": "2"}, "value": 1.5}
{"point": {"a": 8, "b": 2}, "failed": true}
{"ask": 1}
`)
	if err := run([]string{"tune", "-space=" + file}, in, &out); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	for _, want := range []int{2, 1} {
		var points []map[string]float64
		if err := lines.Decode(&points); err != nil || len(points) != want || len(points[0]) != 2 {
			t.Fatal(points, err)
		}
	}
}

func TestTuneRefuses(t *testing.T) {
	file := scenario(t, twoParameters)
	for _, c := range [][]string{
		{},
		{"-space=/nowhere"},
		{"-space=" + file, "extra"},
		{"-space=" + file, "-method=odd"},
		{"-space=" + file, "-known=/nowhere"},
		{"-odd"},
		{"-space=" + scenario(t, "{")},
		{"-space=" + file, "-command=exit 1", "-budget=3"},
		{"-space=" + file, "-command=echo iteration {a}: loss=nan", "-budget=3"},
		{"-space=" + file, "-command=echo {a} 1e999", "-budget=3"},
	} {
		if err := run(append([]string{"tune"}, c...), strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", c)
		}
	}
	for _, line := range []string{"{}", "odd", `{"ask": 1, "point": {}}`, `{"point": {"a": "3", "b": "1"}, "value": 1}`, `{"point": {"a": "1", "b": "1"}, "value": -1}`} {
		if err := run([]string{"tune", "-space=" + file}, strings.NewReader(line), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
