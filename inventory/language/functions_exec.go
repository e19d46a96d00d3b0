package language

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weft/internal/slice"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const (
	execTimeout = 60 * time.Second
	execOutput  = 64 << 10 // bytes
)

// execFunction runs a command and returns what it prints, without white space
// around. It runs only while a secret is read, never to load an inventory, and
// nothing of the output is in any error.
func (r *outside) execFunction() function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "command", Type: cty.String}},
		VarParam: &function.Parameter{Name: "arguments", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			vector := slice.Map(args, cty.Value.AsString)
			if !r.e.inSecret {
				return cty.NilVal, errors.New("exec() is allowed only in sensitive attributes, such as password, because it runs when weft connects")
			}
			text, err := runCommand(vector)
			return cty.StringVal(text), err
		},
	})
}

func runCommand(args []string) (string, error) {
	if args[0] == "" {
		return "", errors.New("exec() needs a command")
	}
	ctx, cancel := context.WithTimeout(context.Background(), execTimeout)
	defer cancel()
	out := &limitedText{}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout = out
	cmd.WaitDelay = time.Second // for what it has left running
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("run %s: timed out after %s", args[0], execTimeout)
	case errors.Is(err, errLongOutput) || out.full:
		return "", fmt.Errorf("run %s: it printed more than %d bytes", args[0], execOutput)
	case errors.As(err, &exit):
		return "", fmt.Errorf("run %s: %s", args[0], exit.ProcessState)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("run %s: command not found", args[0])
	case err != nil:
		return "", fmt.Errorf("run %s: %w", args[0], err)
	case !utf8.Valid(out.text):
		return "", fmt.Errorf("run %s: output is not UTF-8", args[0])
	}
	return strings.TrimSpace(string(out.text)), nil
}

var errLongOutput = errors.New("too much output")

// limitedText keeps what a command prints.
type limitedText struct {
	text []byte
	full bool
}

// Write takes text until there is too much.
func (l *limitedText) Write(p []byte) (int, error) {
	if len(l.text)+len(p) > execOutput {
		l.full = true
		return 0, errLongOutput
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

// misplacedExec says that a command would run where nobody expects one.
func misplacedExec(rng hcl.Range) *hcl.Diagnostic {
	return problem.New(problem.Expr, rng, "exec() outside of a sensitive attribute",
		"exec() is allowed only in sensitive attributes, such as password, because it runs when weft connects.")
}

// secretFunctions read secrets from outside.
func secretFunctions() []string { return []string{"env", "file", "exec"} }

func readsSecrets(name string) bool {
	return slices.Contains(secretFunctions(), name)
}
