package codegen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"libsparse/libsparse/diag"
)

// Starting is held while a compiler starts. A child that the host forks at that time would have the pipes open that tell
// how the start went and what the compiler prints, and the wait for their end would last as long as that child lives;
// the C interface puts a lock here that forks wait for.
var Starting sync.Locker = new(sync.Mutex)

// Invoke runs a C compiler with an environment of its own, and returns what it printed: temporary files go to tmp, its
// own tools are found in the list search. Its process group is killed when the time is up or ctx ends. A compiler says what
// is wrong; one that fails without a word was cut short by what else goes on on the machine, and is asked once more.
func Invoke(ctx context.Context, tmp, search, program string, args ...string) (string, error) {
	output, err := attempt(ctx, tmp, search, program, args)
	if exit := (*exec.ExitError)(nil); output == "" && errors.As(err, &exit) {
		output, err = attempt(ctx, tmp, search, program, args)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", diag.Errorf(diag.Toolchain, "the C compiler %s failed: %s", program, ending(exit, output)).
			WithDetail(strings.Join(append([]string{program}, args...), " ") + "\n" + output)
	}
	return output, err
}

// ending says how a compiler ended: what it printed follows as a detail.
func ending(exit *exec.ExitError, output string) string {
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return exit.Error() + ": perhaps for want of memory"
	case output == "":
		return exit.Error() + ", twice, and it did not say why: memory, processes or room for files may be exhausted"
	default:
		return exit.Error()
	}
}

// attempt runs the compiler once; its failure is an *exec.ExitError.
func attempt(ctx context.Context, tmp, search, program string, args []string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, program, args...)
	cmd.Env = []string{"PATH=" + search, "LC_ALL=C"}
	if tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var output beginning
	cmd.Stdout, cmd.Stderr = &output, &output
	err := start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it succeeded, but a server that it has started holds its output open
		return string(output), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("compiling a kernel was cancelled: %w", ctx.Err())
	case limited.Err() != nil:
		return "", diag.Errorf(diag.Toolchain, "the C compiler %s did not finish within %v", program, compileLimit).WithDetail(string(output))
	case errors.As(err, &exit):
		return string(output), exit
	case errors.Is(err, syscall.ECHILD) && hasWritten(args, string(output)):
		return string(output), nil
	default:
		return "", diag.Errorf(diag.Toolchain, "the C compiler %s failed: %v", program, err).WithDetail(string(output))
	}
}

// printed is how many bytes of what a compiler prints are kept: its first words say what is wrong.
const printed = 1 << 16

// beginning keeps the first bytes that are written to it.
type beginning []byte

func (b *beginning) Write(text []byte) (int, error) {
	*b = append(*b, text[:min(len(text), printed-len(*b))]...)
	return len(text), nil
}

// hasWritten reports whether a compiler has done what it was to do, by its results: how it ended is unknown where the host ignores the
// ends of its children, or somebody else waits for all of them.
func hasWritten(args []string, output string) bool {
	at := slices.Index(args, "-o")
	if at < 0 {
		return output != ""
	}
	stat, err := os.Stat(args[at+1])
	return err == nil && stat.Size() > 0
}

func start(cmd *exec.Cmd) error {
	Starting.Lock()
	defer Starting.Unlock()
	return cmd.Start()
}
