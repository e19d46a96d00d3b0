package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"weft/internal/agent"
	"weft/internal/remote"
)

// ask has weft-initiator of a server do what a request asks for. An error means
// that there is no reply; what was not done, or went wrong, is in the reply.
func ask(ctx context.Context, host remote.Host, request agent.Request) (*agent.Reply, error) {
	request.Format = agent.RequestFormat
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if l := request.Load; l != nil {
		ctx = remote.Longer(ctx, l.Ramp+l.Runtime)
	}
	out, err := host.Run(ctx, remote.Cmd{Args: []string{agent.ProbeBin, "do"}, Stdin: bytes.NewReader(text)})
	var exit *remote.ExitError
	switch {
	case errors.As(err, &exit):
		out = exit.Output
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, fmt.Errorf("%w; what needs longer gets it from command_timeout in the server's connection, or from fewer samples", err)
	case err != nil:
		return nil, err
	}
	reply, why := agent.ParseReply(out.Stdout)
	if why == nil {
		if err := mute(&request, reply); err != nil {
			return nil, err
		}
		return reply, nil
	}
	if exit != nil && len(bytes.TrimSpace(out.Stdout)) == 0 && exit.Code != agent.ExitUsage {
		return nil, fmt.Errorf("%s on %s did not run: exit %d: %s", agent.ProbeBin, host.Name(), exit.Code, complaint(exit))
	}
	return nil, strange(ctx, host, out, exit, why)
}

// strange says of what is no reply where it came from: most likely a
// weft-initiator that another weft has installed.
func strange(ctx context.Context, host remote.Host, out remote.Output, exit *remote.ExitError, why error) error {
	version := "of unknown version"
	if said, err := host.Run(ctx, remote.Cmd{Args: []string{agent.ProbeBin, "version"}}); err == nil {
		version = strings.TrimPrefix(strings.TrimSpace(string(said.Stdout)), "weft-initiator ")
	}
	said := fmt.Sprintf("%.200q", remote.Redact(string(out.Stdout)))
	if exit != nil && len(out.Stdout) == 0 {
		said = fmt.Sprintf("exit %d: %s", exit.Code, complaint(exit))
	}
	return fmt.Errorf("%s on %s (%s) does not answer as this weft (%s) asks: %w; it said %s; weft apply installs the one that belongs to this weft",
		agent.ProbeBin, host.Name(), version, agent.Version(), why, said)
}

// unanswered is why a reply has no result: what the probe says stands for
// itself.
func unanswered(reply *agent.Reply) error {
	if reply.Error == "" {
		return fmt.Errorf("%s has no result and does not say why", agent.ProbeBin)
	}
	text := reply.Error
	if reply.Hint != "" {
		text += " (" + reply.Hint + ")"
	}
	return errors.New(strings.ReplaceAll(text, "\n", "; "))
}

// complaint is what an agent that failed had to say, in a line.
func complaint(exit *remote.ExitError) string {
	return strings.ReplaceAll(remote.Redact(strings.TrimSpace(string(exit.Output.Stderr))), "\n", "; ")
}
