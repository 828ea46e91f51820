package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"libsparse/libsparse/tune/space"
)

// interrupted is the status of a search that a signal ends.
const interrupted = 130

// measure runs the command with the values of a point in the places of {name}: the last word that is a number, perhaps
// behind an equals sign, is the value. It returns why there is none.
func (s *search) measure(at space.Point) (m measured, why string) {
	m = measured{Point: s.named(at), Failed: true}
	var values []string
	for name, text := range m.Point {
		values = append(values, "{"+name+"}", text)
	}
	line := strings.NewReplacer(values...).Replace(s.command)
	alive, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(alive, s.limit)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", line)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the shell has begun ends with it
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if alive.Err() != nil {
		os.Exit(interrupted)
	}
	stop()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return m, fmt.Sprintf("took longer than %v", s.limit)
	}
	if err != nil {
		return m, err.Error()
	}
	value, found := lastNumber(string(printed))
	switch {
	case !found:
		return m, "printed no finite number"
	case s.scenario.Log && value <= 0:
		return m, fmt.Sprintf("%g has no logarithm", value)
	}
	m.Value, m.Failed = value, false
	return m, ""
}

// lastNumber is the value of the last word of a text that is a number; there is none where that isn't finite.
func lastNumber(text string) (float64, bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '=' || r == ':' })
	for _, word := range slices.Backward(words) {
		if value, err := strconv.ParseFloat(word, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return value, !math.IsNaN(value) && !math.IsInf(value, 0)
		}
	}
	return 0, false
}
