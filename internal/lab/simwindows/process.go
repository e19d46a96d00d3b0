//go:build unix

package simwindows

import (
	"bytes"
	"strings"
)

// A running is a process that a script has started: it runs when its input is at its end.
type running struct {
	exe   []byte
	args  []string
	input bytes.Buffer

	process        *object // whose ExitCode it sets
	stdout, stderr string
	said           *object // what ReadToEndAsync gave
}

// A pipeOf is one of the ends of a process: in, out or err.
type pipeOf struct {
	of   *running
	what string
}

// start is Process.Start. The one program that this host runs is weft-initiator.
func (f *frame) start(args []any) (any, error) {
	how, is := args[0].(*object)
	if !is || how.kind != "System.Diagnostics.ProcessStartInfo" || truth(how.field("UseShellExecute")) {
		return nil, raise("System.InvalidOperationException", "This SIMULATED host starts a process by a ProcessStartInfo without the shell only.")
	}
	for _, needed := range []string{"RedirectStandardInput", "RedirectStandardOutput", "RedirectStandardError"} {
		if !truth(how.field(needed)) {
			return nil, raise("System.InvalidOperationException", "%s is false", needed)
		}
	}
	f.host.mu.Lock()
	exe, err := f.host.disk.read(text(how.field("FileName")))
	f.host.mu.Unlock()
	switch {
	case err != nil:
		return nil, raise("System.ComponentModel.Win32Exception", "The system cannot find the file specified")
	case !bytes.HasPrefix(exe, []byte("MZ")): // PE/COFF begins with the stub of MS-DOS
		return nil, raise("System.ComponentModel.Win32Exception", "The specified executable is not a valid application for this OS platform.")
	case f.host.spec.Probe == nil:
		return nil, raise("System.ComponentModel.Win32Exception", "This SIMULATED host runs no program.")
	}
	r := &running{exe: exe, args: strings.Fields(text(how.field("Arguments")))}
	r.process = made("System.Diagnostics.Process", "StandardInput", &pipeOf{r, "in"}, "StandardOutput", &pipeOf{r, "out"}, "StandardError", &pipeOf{r, "err"}, "ExitCode", nil)
	return r.process, nil
}

// piped is a method of an end of a process.
func (f *frame) piped(p *pipeOf, name string, args []any) (any, error) {
	r := p.of
	switch p.what + "." + name {
	case "in.write":
		b, is := args[0].([]byte)
		if !is {
			return nil, raise("System.ArgumentException", "Write takes bytes")
		}
		r.input.Write(b)
		return nil, nil
	case "in.close":
		out, errs, code, err := f.host.spec.Probe(f.ctx, r.exe, r.args, r.input.Bytes())
		if err != nil {
			return nil, raise("System.ComponentModel.Win32Exception", "%v", err)
		}
		r.stdout, r.stderr = string(out), string(errs)
		r.process.set("ExitCode", int64(code))
		if r.said != nil {
			r.said.set("Result", r.stderr)
		}
		return nil, nil
	case "out.readtoend":
		return r.stdout, nil
	case "err.readtoendasync":
		r.said = made("System.Threading.Tasks.Task", "Result", nil)
		return r.said, nil
	}
	return nil, noMethod(p, name)
}

// set gives a field of an object another value.
func (o *object) set(name string, v any) {
	for i := range o.fields {
		if strings.EqualFold(o.fields[i].name, name) {
			o.fields[i].value = v
		}
	}
}
