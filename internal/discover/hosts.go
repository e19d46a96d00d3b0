package discover

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/inventory"
)

// mostHosts is how many machines one source may name.
const mostHosts = 10000

// longestName is how many bytes the name of a machine may have.
const longestName = 255

// ParseCSV reads machines from a table whose first line names its columns: host, which
// is dialled, name, and user, who logs in; both may be left out. Without such a line the
// first column is host and the second is name. Empty lines, and those that begin with #, say nothing.
func ParseCSV(text []byte) ([]Named, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace = '#', -1, true
	host, name, user := 0, 1, -1
	var list []Named
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the table cannot be read: %w", err)
		}
		if first {
			if h := column(record, "host", "address", "ip"); h >= 0 {
				host, name, user = h, column(record, "name", "hostname"), column(record, "user", "username", "login")
				continue
			}
			if column(record, "name", "hostname") >= 0 {
				return nil, hint.Wrap(errors.New("the first line names columns, and none of them is host"), "name the column with what is dialled host")
			}
		}
		line, _ := r.FieldPos(0)
		m := Named{Host: field(record, host), Name: field(record, name), User: field(record, user)}
		if m.Host == "" && m.Name == "" {
			continue
		}
		if list, err = appendNamed(list, m, fmt.Sprintf("line %d", line)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func column(record []string, names ...string) int {
	for _, n := range names {
		if i := slices.IndexFunc(record, func(f string) bool { return strings.EqualFold(strings.TrimSpace(f), n) }); i >= 0 {
			return i
		}
	}
	return -1
}

func field(record []string, i int) string {
	if i < 0 || i >= len(record) {
		return ""
	}
	return strings.TrimSpace(record[i])
}

// appendNamed adds a machine, once.
func appendNamed(list []Named, m Named, where string) ([]Named, error) {
	where = clip(where, longestName)
	switch {
	case !dialable(m.Host):
		return nil, hint.Wrap(fmt.Errorf("%s: %q is no host", where, clip(m.Host, longestName)), "a host is a name or an address, such as st1.mgmt.example.net")
	case len(m.Name) > longestName:
		return nil, fmt.Errorf("%s: the name %q has %d bytes, of at most %d", where, clip(m.Name, longestName), len(m.Name), longestName)
	case len(list) >= mostHosts:
		return nil, fmt.Errorf("%s: more than %d machines", where, mostHosts)
	}
	if i := slices.IndexFunc(list, func(x Named) bool { return x.Host == m.Host }); i >= 0 {
		list[i].User = cmp.Or(list[i].User, m.User)
		return list, nil
	}
	return append(list, m), nil
}

// dialable reports whether a text can be the name or address of a host. One that begins
// with a dash would be an option to others.
func dialable(host string) bool {
	if host == "" || host[0] == '-' || len(host) > 255 || inventory.IsNumber(host) {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:%", r))
	})
}

// ParseHosts reads --hosts: names between commas.
func ParseHosts(text string) ([]Named, error) {
	var list []Named
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		var err error
		if list, err = appendNamed(list, Named{Host: part}, "--hosts"); err != nil {
			return nil, err
		}
	}
	return list, nil
}
