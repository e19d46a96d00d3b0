package remote

import "strings"

// Quote turns an argument vector into one line for a POSIX shell. It is the
// only function that does.
func Quote(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
		if i == 0 && quoted[i] == a && strings.Contains(a, "=") {
			quoted[i] = "'" + a + "'" // a command, not an assignment
		}
	}
	return strings.Join(quoted, " ")
}

func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 && !strings.HasPrefix(s, "=") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Short is an argument vector as a message names it: a shell script in it that
// people would not want to read there is left out, its arguments are not. The
// whole of it is what a plan shows.
func Short(args ...string) string {
	const most = 80 // of a script that is shown
	var words []string
	for i := 0; i < len(args); i++ {
		script := i >= 2 && args[i-1] == "-c" && (args[i-2] == "sh" || args[i-2] == "/bin/sh")
		if !script || len(args[i]) <= most && !strings.Contains(args[i], "\n") {
			words = append(words, Quote(args[i]))
			continue
		}
		words = append(words, "…")
		if i+1 < len(args) { // the name of the script for itself
			i++
		}
	}
	return strings.Join(words, " ")
}
