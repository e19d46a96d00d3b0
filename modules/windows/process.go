package windows

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/windows/powershell"
)

// startProgram runs $exe with $arguments, and gives it the bytes of $coded. Its errors are
// read meanwhile: a pipe that nobody empties would stop it.
const startProgram = `$how = @{ FileName = $exe; Arguments = $arguments; UseShellExecute = $false; CreateNoWindow = $true
RedirectStandardInput = $true; RedirectStandardOutput = $true; RedirectStandardError = $true
StandardOutputEncoding = [Text.Encoding]::UTF8; StandardErrorEncoding = [Text.Encoding]::UTF8 }
$start = New-Object -TypeName 'Diagnostics.ProcessStartInfo' -Property $how
$process = [Diagnostics.Process]::Start($start)
$said = $process.StandardError.ReadToEndAsync()
$bytes = [Convert]::FromBase64String($coded)
$process.StandardInput.BaseStream.Write($bytes, 0, $bytes.Length)
$process.StandardInput.Close()
$out = $process.StandardOutput.ReadToEnd()
$process.WaitForExit()
$value = @{ out = [string]$out; err = [string]$said.Result; code = [int]$process.ExitCode }
`

// ran is what startProgram leaves.
type ran struct {
	Out  string `json:"out"`
	Err  string `json:"err"`
	Code int    `json:"code"`
}

// probe runs weft-initiator, as its path on Linux names it: who measures knows no other.
func (t transport) probe(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	var input []byte
	if cmd.Stdin != nil {
		var err error
		if input, err = io.ReadAll(cmd.Stdin); err != nil {
			return remote.Output{}, err
		}
	}
	answers, err := t.run(ctx, powershell.Let("exe", probeExe)+powershell.Let("arguments", strings.Join(cmd.Args[1:], " "))+
		powershell.Let("coded", base64.StdEncoding.EncodeToString(input))+startProgram)
	switch {
	case err != nil:
		return remote.Output{}, err
	case !answers[0].OK: // it has not begun
		return remote.Output{}, hint.Wrap(fmt.Errorf("%s on %s did not run: %s", probeExe, t.Name(), strings.Join(strings.Fields(answers[0].Message), " ")),
			"weft apply installs it; a policy of the host may keep it from running")
	}
	var r ran
	if err := json.Unmarshal(answers[0].Value, &r); err != nil {
		return remote.Output{}, fmt.Errorf("run %s: the host answers %.100q: %w", probeExe, answers[0].Value, err)
	}
	out := remote.Output{Stdout: []byte(r.Out), Stderr: []byte(r.Err)}
	if r.Code != 0 {
		return out, &remote.ExitError{Args: cmd.Args, Code: r.Code, Output: out}
	}
	return out, nil
}

// isProbe reports whether a command is one of weft-initiator, of words that need no quotes.
func isProbe(args []string) bool {
	return len(args) > 1 && args[0] == agent.ProbeBin && !strings.ContainsAny(strings.Join(args[1:], " "), "\"'`\\")
}
