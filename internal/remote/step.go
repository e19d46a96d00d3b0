package remote

import (
	"bytes"
	"context"
	"fmt"
)

// Do carries out one step. A command's exit status other than 0 is an
// *ExitError.
func Do(ctx context.Context, h Host, s Step) error {
	switch {
	case s.Put != nil:
		content, err := s.Put.Bytes()
		if err == nil {
			err = h.WriteFile(ctx, s.Put.Path, bytes.NewReader(content), s.Put.Mode)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", s.Put.Path, err)
		}
		return nil
	case s.Del != "":
		_, err := h.Run(ctx, Cmd{Args: removal(s.Del)})
		return err
	case len(s.Args) > 0:
		cmd := Cmd{Args: s.Args}
		if s.Secret != nil {
			cmd.Stdin = bytes.NewReader(s.Secret)
		}
		_, err := h.Run(ctx, cmd)
		return withholding(err, s.Secret)
	}
	return fmt.Errorf("a step without a command or a file")
}

// removal is the command that removes a file, if it is there.
func removal(path string) []string { return []string{"rm", "-f", "--", path} }
