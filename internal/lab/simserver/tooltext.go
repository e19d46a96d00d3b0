//go:build unix

package simserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// echo writes all of its words at once, as attributes of the kernel want it,
// and says when they are not taken.
func echo(x *call) int {
	args, end := x.args, "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	if len(args) > 0 && (args[0] == "-e" || args[0] == "-E") {
		return x.notSimulated(1)
	}
	if _, err := io.WriteString(x.stdout, strings.Join(args, " ")+end); err != nil {
		return x.errorf("write error: %s", strerror(err))
	}
	return 0
}

func sha256sum(x *call, _ options, files []string) int {
	return x.each(files, func(name string, r io.Reader) error {
		sum, err := x.server.net.sums.of(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(x.stdout, "%x  %s\n", sum, name)
		return nil
	})
}

func wc(x *call, opts options, files []string) int {
	return x.each(files, func(name string, r io.Reader) error {
		data, err := readAll(r)
		if err != nil {
			return err
		}
		var words []string
		for _, n := range []struct {
			letter rune
			count  int
		}{{'l', bytes.Count(data, []byte("\n"))}, {'w', len(bytes.Fields(data))}, {'c', len(data)}} {
			if len(opts) == 0 || opts.has(n.letter) {
				words = append(words, strconv.Itoa(n.count))
			}
		}
		if name != "-" {
			words = append(words, name)
		}
		fmt.Fprintln(x.stdout, strings.Join(words, " "))
		return nil
	})
}

func head(x *call) int {
	opts, count, files, ok := x.partOptions()
	if !ok {
		return 1
	}
	return x.each(files, func(_ string, r io.Reader) error {
		if opts.has('c') {
			_, err := io.Copy(x.stdout, io.LimitReader(r, count))
			return err
		}
		lines := bufio.NewReader(r)
		for range count {
			line, err := lines.ReadBytes('\n')
			if _, werr := x.stdout.Write(line); werr != nil || err != nil {
				return errors.Join(werr, notEOF(err))
			}
		}
		return nil
	})
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func tail(x *call) int {
	opts, count, files, ok := x.partOptions()
	if !ok {
		return 1
	}
	return x.each(files, func(_ string, r io.Reader) error {
		data, err := readAll(r)
		if err != nil {
			return err
		}
		if opts.has('c') {
			_, err = x.stdout.Write(data[max(0, int64(len(data))-count):])
			return err
		}
		lines := splitLines(data)
		_, err = x.stdout.Write(bytes.Join(lines[max(0, int64(len(lines))-count):], nil))
		return err
	})
}

// partOptions are the options of head and tail.
func (x *call) partOptions() (opts options, count int64, files []string, ok bool) {
	if len(x.args) > 0 && len(x.args[0]) > 1 && x.args[0][0] == '-' && strings.Trim(x.args[0][1:], "0123456789") == "" {
		x.args = append([]string{"-n", x.args[0][1:]}, x.args[1:]...) // "head -1"
	}
	opts, files, ok = x.options("n:c:", long{"lines": 'n', "bytes": 'c'})
	if !ok || len(files) > 1 {
		x.notSimulated(1)
		return nil, 0, nil, false
	}
	count = 10
	for _, letter := range "nc" {
		if !opts.has(letter) {
			continue
		}
		n, err := strconv.ParseUint(opts.last(letter), 10, 62)
		if err != nil {
			x.notSimulated(1)
			return nil, 0, nil, false
		}
		count = int64(n)
	}
	return opts, count, files, true
}

// longest is how much a tool keeps in memory.
const longest = 64 << 20

// readAll reads what fits into memory.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, longest+1))
	if err == nil && len(data) > longest {
		err = syscall.EFBIG
	}
	return data, err
}

// splitLines keeps the line ends.
func splitLines(data []byte) [][]byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func sortTool(x *call) int {
	opts, files, ok := x.options("urn", nil)
	if !ok || opts.has('n') {
		return x.notSimulated(2)
	}
	var lines []string
	status := x.each(files, func(_ string, r io.Reader) error {
		data, err := readAll(r)
		for _, l := range splitLines(data) {
			lines = append(lines, strings.TrimSuffix(string(l), "\n"))
		}
		return err
	})
	slices.Sort(lines)
	if opts.has('u') {
		lines = slices.Compact(lines)
	}
	if opts.has('r') {
		slices.Reverse(lines)
	}
	for _, l := range lines {
		fmt.Fprintln(x.stdout, l)
	}
	return status
}

func cmp(x *call) int {
	opts, files, ok := x.options("sn:i:", long{"silent": 's', "quiet": 's', "bytes": 'n', "ignore-initial": 'i'})
	if !ok || len(files) != 2 {
		return x.notSimulated(2)
	}
	if opts.has('n') {
		return x.cmpPart(files, opts)
	}
	var data [2][]byte
	i := 0
	if x.each(files, func(_ string, r io.Reader) (err error) {
		data[i], err = readAll(r)
		i++
		return err
	}) != 0 {
		return 2
	}
	if bytes.Equal(data[0], data[1]) {
		return 0
	}
	if !opts.has('s') {
		fmt.Fprintf(x.stdout, "%s %s differ\n", files[0], files[1])
	}
	return 1
}

// cmpPart compares a part of two files, none of which need be small.
func (x *call) cmpPart(files []string, opts options) int {
	n, err := strconv.ParseInt(opts.last('n'), 10, 32)
	if err != nil {
		return x.notSimulated(2)
	}
	skips := []string{"0", "0"}
	if opts.has('i') {
		if skips = strings.Split(opts.last('i'), ":"); len(skips) != 2 {
			return x.notSimulated(2)
		}
	}
	var data [2][]byte
	for i, name := range files {
		at, err := strconv.ParseInt(skips[i], 10, 64)
		if err != nil {
			return x.notSimulated(2)
		}
		f, err := x.view().Open(x.abs(name), os.O_RDONLY, 0)
		if err != nil {
			x.errorf("%s: %s", name, strerror(err))
			return 2
		}
		data[i] = make([]byte, n)
		size, err := f.ReadAt(data[i], at)
		_ = f.Close() // nothing was written
		if err != nil && !errors.Is(err, io.EOF) {
			x.errorf("%s: %s", name, strerror(err))
			return 2
		}
		data[i] = data[i][:size]
	}
	if bytes.Equal(data[0], data[1]) {
		return 0
	}
	return 1
}
