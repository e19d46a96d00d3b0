//go:build unix

package simwindows

import (
	"encoding/base64"
	"strings"
	"time"
)

// static is a static method or property of .NET.
func (f *frame) static(kind, name string, called bool, args []any) (any, error) {
	h := f.host
	if called && strings.EqualFold(strings.TrimPrefix(strings.ToLower(kind), "system."), "diagnostics.process") && strings.EqualFold(name, "Start") {
		return f.start(args)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	full := strings.ToLower(strings.TrimPrefix(strings.ToLower(kind), "system.") + "::" + name)
	if called {
		switch full {
		case "convert::tobase64string":
			if b, is := args[0].([]byte); is {
				return base64.StdEncoding.EncodeToString(b), nil
			}
		case "convert::frombase64string":
			b, err := base64.StdEncoding.DecodeString(text(args[0]))
			if err != nil {
				return nil, raise("System.FormatException", "The input is not a valid Base-64 string")
			}
			return b, nil
		case "security.principal.windowsidentity::getcurrent":
			return made("System.Security.Principal.WindowsIdentity", "Name", strings.ToUpper(h.spec.Name)+`\`+f.user), nil
		case "console::openstandardoutput":
			return &stream{}, nil
		case "microsoft.win32.registry::getvalue":
			if strings.EqualFold(text(args[0]), `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Cryptography`) && text(args[1]) == "MachineGuid" {
				g := h.guid
				return g[:8] + "-" + g[8:12] + "-" + g[12:16] + "-" + g[16:20] + "-" + g[20:], nil
			}
			return args[2], nil
		}
		if v, known, err := h.dotnet(full, args); known {
			return v, err
		}
	} else {
		switch full {
		case "datetimeoffset::utcnow", "datetime::now":
			return moment{h.now()}, nil
		case "text.encoding::utf8":
			return made("System.Text.UTF8Encoding"), nil
		case "security.principal.windowsbuiltinrole::administrator":
			return "Administrator", nil
		case "nullstring::value":
			return nullString{}, nil
		case "environment::systemdirectory":
			return `C:\Windows\system32`, nil
		}
	}
	return nil, raise("System.Management.Automation.RuntimeException", "[%s]::%s is not one of what this SIMULATED host has", kind, name)
}

// method is a method of an object.
func (f *frame) method(of any, name string, args []any) (any, error) {
	h := f.host
	name = strings.ToLower(name)
	if p, is := of.(*pipeOf); is { // a process may take its time
		return f.piped(p, name, args)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch v := of.(type) {
	case string:
		return methodOfText(v, name, args)
	case moment:
		switch name {
		case "tounixtimeseconds":
			return v.Unix(), nil
		case "touniversaltime":
			return moment{v.UTC()}, nil
		case "addseconds":
			return moment{v.Add(time.Duration(args[0].(int64)) * time.Second)}, nil
		case "tostring":
			return v.Format("2006-01-02T15:04:05.0000000Z07:00"), nil
		}
	case *stream:
		return nil, f.written(v, name, args)
	case *object:
		return f.methodOfObject(v, name, args)
	}
	return nil, noMethod(of, name)
}

// noMethod: an object has no such method, or the host does not have it.
func noMethod(of any, name string) error {
	return raise("System.Management.Automation.RuntimeException", "Method invocation failed because [%s] does not contain a method named '%s', or this SIMULATED host does not have it.", text(of), name)
}

// methodOfText is a method of a string.
func methodOfText(v, name string, args []any) (any, error) {
	s := func(i int) string { return text(args[i]) }
	switch name {
	case "trim":
		return strings.TrimSpace(v), nil
	case "split":
		var list []any
		for _, w := range strings.Split(v, s(0)) {
			list = append(list, w)
		}
		return list, nil
	case "contains":
		return strings.Contains(v, s(0)), nil
	case "endswith":
		return strings.HasSuffix(v, s(0)), nil
	case "replace":
		return strings.ReplaceAll(v, s(0), s(1)), nil
	case "indexof":
		return int64(strings.Index(v, s(0))), nil
	case "substring":
		if n, is := args[0].(int64); is && n >= 0 && n <= int64(len(v)) {
			return v[n:], nil
		}
		return nil, raise("System.ArgumentOutOfRangeException", "StartIndex cannot be less than zero.")
	}
	return nil, noMethod(v, name)
}

// methodOfObject is a method of an object of .NET.
func (f *frame) methodOfObject(v *object, name string, args []any) (any, error) {
	s := func(i int) string { return text(args[i]) }
	switch {
	case v.kind == "System.Text.UTF8Encoding" && name == "getbytes":
		return []byte(s(0)), nil
	case v.kind == "System.Security.Principal.WindowsPrincipal" && name == "isinrole":
		return s(0) == "Administrator" && f.elevated, nil
	case v.kind == "System.Security.AccessControl.DirectorySecurity" && name == "setsecuritydescriptorsddlform":
		v.fields = []fieldOf{{"sddl", s(0)}}
		return nil, nil
	case v.kind == "System.Net.NetworkInformation.Ping" && name == "send":
		return f.host.ping(s(0), args[2:])
	case v.kind == "System.Diagnostics.Process" && name == "waitforexit":
		return nil, nil
	case v.kind == "Exception" && name == "getbaseexception":
		return v, nil
	case v.kind == "Exception" && name == "gettype":
		return made("System.RuntimeType", "FullName", v.field("kind")), nil
	}
	return nil, noMethod(v, name)
}

// written is what becomes of bytes that are written to a stream.
func (f *frame) written(s *stream, name string, args []any) error {
	h := f.host
	switch name {
	case "write":
		b, is := args[0].([]byte)
		if !is {
			return raise("System.ArgumentException", "Write takes bytes")
		}
		if s.name == "" {
			f.printed.Write(b)
			return nil
		}
		i := h.disk.items[key(s.name)]
		if i == nil {
			return raise("System.IO.IOException", "The file has gone.")
		}
		i.data = append(i.data, b...)
		return nil
	case "flush", "dispose":
		return nil
	}
	return raise("System.Management.Automation.RuntimeException", "a stream has no %s on this SIMULATED host", name)
}
