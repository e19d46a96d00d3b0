package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
)

// errCut is a reply that ends before its last marker.
var errCut = errors.New("the reply ended early")

// parse cuts the output of Script(looks), run with the nonce, apart. Whatever a shell
// start-up file prints before the first marker is dropped.
func parse(nonce string, looks []Look, out Output) (Seen, error) {
	frames, err := split(nonce, out.Stdout)
	if err != nil {
		return Seen{}, err
	}
	// Standard error only explains; a host that loses its end is still read.
	said, _ := split(nonce, out.Stderr)
	devices := pciDevices(looks)
	answers := make([]Answer, len(looks))
	for i, l := range looks {
		device := slices.Index(devices, l.PCI)
		sight, err := frames.sight(i, l, device, said.bodies[i])
		if err != nil {
			return Seen{}, err
		}
		answers[i] = Answer{l, sight}
	}
	return NewSeen(answers...), nil
}

// frames is one stream of a script's output, cut apart.
type frames struct {
	netdevs map[int]string   // by number of the PCI device
	ports   map[int][]string // likewise: what weft_find lists where it finds no interface
	bodies  map[int][]byte   // by number of the look
	ends    map[int][]string // words of the look's end marker
	stats   map[int]string   // by number of the look: what stat or ls said of its file
}

// split cuts a stream at its markers. With errCut comes what there was.
func split(nonce string, stream []byte) (frames, error) {
	f := frames{map[int]string{}, map[int][]string{}, map[int][]byte{}, map[int][]string{}, map[int]string{}}
	parts := bytes.Split(stream, []byte("\n"+nonce+" "))
	for _, part := range parts[1:] {
		header, body, whole := bytes.Cut(part, []byte("\n"))
		if !whole {
			return f, errCut
		}
		words := strings.Fields(string(header))
		if len(words) == 1 && words[0] == "done" {
			return f, nil
		}
		if len(words) == 1 && words[0] == "absent" {
			continue
		}
		if len(words) < 2 {
			return f, fmt.Errorf("marker %q makes no sense", header)
		}
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return f, fmt.Errorf("marker %q makes no sense", header)
		}
		switch words[0] {
		case "pci":
			f.netdevs[n] = strings.Join(words[2:], " ")
		case "ports":
			f.ports[n] = words[2:]
		case "look":
			f.bodies[n] = slices.Clip(body)
		case "end":
			f.ends[n] = words[2:]
		case "files":
			f.each(words[1:], bytes.Split(body, []byte("weft="+nonce+"\x00"))[1:], func(i int, content []byte) {
				f.bodies[i], f.ends[i] = slices.Clip(content), []string{"seen"}
			})
		case "stats":
			f.each(words[1:], everyOther(bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))), func(i int, line []byte) {
				f.stats[i] = string(line)
			})
		case "absent":
			f.each(words[1:], make([][]byte, len(words)-1), func(i int, _ []byte) { f.ends[i] = words[:1] })
		case "list":
			f.stats[n] = string(body)
		default:
			return f, fmt.Errorf("marker %q makes no sense", header)
		}
	}
	return f, errCut
}

// each gives the looks of a batch their parts. A batch of which a part is
// missing failed, and its looks follow one by one.
func (f frames) each(looks []string, parts [][]byte, keep func(i int, part []byte)) {
	if len(looks) != len(parts) {
		return
	}
	for n, word := range looks {
		if i, err := strconv.Atoi(word); err == nil {
			keep(i, parts[n])
		}
	}
}

// everyOther are the lines about the files of a batch, without those about what
// stands between them.
func everyOther(lines [][]byte) [][]byte {
	var list [][]byte
	for i := 1; i < len(lines); i += 2 {
		list = append(list, lines[i])
	}
	return list
}

// sight is what the frames say about look number i, at the PCI device of that number.
func (f frames) sight(i int, l Look, device int, stderr []byte) (Sight, error) {
	netdev := f.netdevs[device]
	if l.PCI != "" && (netdev == "" || l.File == "" && len(l.Args) == 0) {
		return netdevSight(l.PCI, netdev, f.ports[device]), nil
	}
	body, end := f.bodies[i], f.ends[i]
	if len(end) == 0 {
		return Sight{}, errCut
	}
	s := Sight{Interface: netdev}
	said := strings.TrimSpace(string(stderr))
	switch end[0] {
	case "seen":
		if l.Sum {
			return s, s.parseSum(body)
		}
		s.Content = body
		if l.Stat {
			if err := s.parseStat(f.stats[i]); err != nil {
				s.Err = fmt.Errorf("mode of %s: %w", l.path(netdev), err)
			}
		}
	case "absent":
		s.Absent = true
		s.Err = &fs.PathError{Op: "read", Path: l.path(netdev), Err: fs.ErrNotExist}
	case "denied":
		s.Err = &fs.PathError{Op: "read", Path: l.path(netdev), Err: fs.ErrPermission}
		if l.Root {
			s.Err = hint.Wrap(s.Err, `only root may read it: set become = "sudo" in the connection`)
		}
	case "refused":
		s.Err = l.refused()
	case "failed":
		s.Err = fmt.Errorf("reading %s: %s", l.path(netdev), said)
	case "code":
		code, err := strconv.Atoi(strings.Join(end[1:], " "))
		if err != nil {
			return Sight{}, fmt.Errorf("exit status of %s: %w", l, err)
		}
		s.Content, s.Stderr, s.Code = body, stderr, code
		if code != 0 {
			s.Err = &ExitError{Args: l.args(netdev), Code: code, Output: Output{body, stderr}}
		}
	default:
		return Sight{}, fmt.Errorf("state %q of %s makes no sense", end[0], l)
	}
	return s, nil
}

// path is the look's file with the interface in its place.
func (l Look) path(netdev string) string {
	if l.PCI == "" {
		return l.File
	}
	return strings.ReplaceAll(l.File, placeholder, netdev)
}

// args are the look's arguments with the interface in its place.
func (l Look) args(netdev string) []string {
	args := make([]string, len(l.Args))
	for i, a := range l.Args {
		args[i] = a
		if l.PCI != "" {
			args[i] = strings.ReplaceAll(a, placeholder, netdev)
		}
	}
	return args
}

// parseSum reads the lines of sha256sum and of ls -lLdn.
func (s *Sight) parseSum(body []byte) error {
	sum, list, _ := strings.Cut(string(body), "\n")
	sum, _, _ = strings.Cut(sum, " ")
	if len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		return fmt.Errorf("sum %q makes no sense", body)
	}
	s.Sum = sum
	return s.parseList(list)
}

// parseList reads a line of ls -lLdn.
func (s *Sight) parseList(line string) error {
	f := strings.Fields(line)
	if len(f) < 5 {
		return fmt.Errorf("list %q makes no sense", line)
	}
	mode, err := parseMode(f[0])
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(f[4], 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("size %q makes no sense", f[4])
	}
	s.Mode, s.Size = mode, size
	return nil
}

// parseStat reads a line of stat -c %f:%s, or of ls where there is no such stat.
func (s *Sight) parseStat(line string) error {
	raw, length, found := strings.Cut(line, ":")
	if !found || strings.Contains(raw, " ") { // ls may show an hour
		return s.parseList(line)
	}
	bits, err := strconv.ParseUint(raw, 16, 32)
	if err != nil {
		return fmt.Errorf("mode %q makes no sense", raw)
	}
	size, err := strconv.ParseInt(length, 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("size %q makes no sense", length)
	}
	s.Mode, s.Size = unixMode(bits), size
	return nil
}

// unixMode is a mode as Linux has it in st_mode; see inode(7).
func unixMode(bits uint64) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	switch bits & 0o170000 {
	case 0o100000:
	case 0o040000:
		mode |= fs.ModeDir
	default:
		mode |= fs.ModeIrregular
	}
	for bit, special := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= special
		}
	}
	return mode
}

// parseMode reads the first column of ls -l: -rwsr-xr-t, and perhaps a sign
// for an access control list.
func parseMode(s string) (fs.FileMode, error) {
	if len(s) < 10 {
		return 0, fmt.Errorf("mode %q makes no sense", s)
	}
	var mode fs.FileMode
	switch s[0] {
	case '-':
	case 'd':
		mode = fs.ModeDir
	default:
		mode = fs.ModeIrregular
	}
	special := [3]fs.FileMode{fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky}
	for i, c := range []byte(s[1:10]) {
		bit := fs.FileMode(1) << (8 - i)
		switch c {
		case '-':
		case 'r', 'w', 'x':
			mode |= bit
		case 's', 't':
			mode |= bit | special[i/3]
		case 'S', 'T':
			mode |= special[i/3]
		default:
			return 0, fmt.Errorf("mode %q makes no sense", s)
		}
	}
	return mode, nil
}
