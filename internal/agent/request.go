package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// RequestFormat is the format of [Request] and [Reply]. What one side does not
// know the other must not send: a field more is another format, but for one that
// is only sent where files ask for what it says, as Way.TLSKeyFile is: an agent that
// does not know it refuses it by its name.
const RequestFormat = 1

// requestMost is the longest request or reply in bytes.
const requestMost = 1 << 20

// A Request is what weft asks of weft-initiator: JSON on its standard input, to
// "weft-initiator do". Exactly one of the pointers is set.
type Request struct {
	Format int            `json:"format"`
	Read   *ReadRequest   `json:"read,omitempty"`
	Load   *LoadRequest   `json:"load,omitempty"`
	Probe  *ProbeRequest  `json:"probe,omitempty"`
	Answer *AnswerRequest `json:"answer,omitempty"`
}

// A Way is how an initiator gets to a portal. Keys are in files of its machine,
// never in a request or on a command line.
type Way struct {
	Transports []string      `json:"transports"`     // "rdma" and "tcp" in their order of preference
	From       string        `json:"from,omitempty"` // own address; the system's choice where empty
	ToS        uint8         `json:"tos,omitempty"`  // type of service of what is sent; 0: the system's
	Connect    time.Duration `json:"connect_ns"`     // how long connecting may take
	HostNQN    string        `json:"host_nqn,omitempty"`
	KeyFile    string        `json:"key_file,omitempty"`     // with the host's key
	SubKeyFile string        `json:"sub_key_file,omitempty"` // with the key that the subsystem has to prove
	TLSKeyFile string        `json:"tls_key_file,omitempty"` // with the key by which TLS is spoken; empty: in clear
}

// ReadRequest measures how long reads take, of a namespace or of a local file or
// device. The reply has Probe.
type ReadRequest struct {
	Over    Way           `json:"over"`
	Portal  string        `json:"portal,omitempty"`
	NQN     string        `json:"nqn,omitempty"`
	NSID    uint32        `json:"nsid,omitempty"` // 0: the first that the host is shown
	Path    string        `json:"path,omitempty"` // instead of a target
	Size    int           `json:"size"`           // bytes of one read
	Depth   int           `json:"depth"`          // reads outstanding
	Samples int           `json:"samples"`
	Warmup  int           `json:"warmup"` // reads before those
	Timeout time.Duration `json:"timeout_ns"`
}

// LoadRequest puts a namespace, or a local file or device, under a load. The reply
// has Load.
type LoadRequest struct {
	Over      Way           `json:"over"`
	Portals   []string      `json:"portals,omitempty"` // all of one subsystem: its paths
	NQN       string        `json:"nqn,omitempty"`
	NSID      uint32        `json:"nsid,omitempty"`
	Path      string        `json:"path,omitempty"`
	Pattern   string        `json:"pattern"` // as fio names it; without Work "randread" only
	Size      uint64        `json:"size"`    // bytes of one command
	Depth     int           `json:"depth"`
	Runtime   time.Duration `json:"runtime_ns"`
	Ramp      time.Duration `json:"ramp_ns"`       // before that
	Timeout   time.Duration `json:"timeout_ns"`    // after which a path counts as lost
	KeepAlive time.Duration `json:"keep_alive_ns"` // timeout
	Patience  time.Duration `json:"patience_ns"`   // how long commands wait when all paths are lost; 0: not at all
	Work      *Work         `json:"work,omitempty"`
}

// Work is what a load does that a validation describes. The reply then has Worked.
type Work struct {
	ReadShare int     `json:"read_share"`           // percent of reads in a mixed pattern
	Queues    int     `json:"queues"`               // each of Depth
	Rate      float64 `json:"rate,omitempty"`       // commands a second of all queues; 0: as many as go
	FlushEach int     `json:"flush_each,omitempty"` // a flush after so many writes of a queue; 0: none
	Span      uint64  `json:"span"`                 // bytes from the beginning, at most
	// Overwrite is NQN/NSID of what a pattern that writes may overwrite: only where all of
	// it is blank or of an earlier load, and everything written is read back.
	Overwrite string `json:"overwrite,omitempty"`
}

// ProbeRequest sends messages to whoever answers at an address (see
// [AnswerRequest]) and measures how long they take. The reply has Probe.
type ProbeRequest struct {
	Over    Way           `json:"over"` // one transport
	Portal  string        `json:"portal"`
	Size    int           `json:"size"`
	Samples int64         `json:"samples"`
	Runtime time.Duration `json:"runtime_ns"` // the most it may take
}

// AnswerRequest answers the messages of one client, and ends when that has left or
// when none has come in time.
type AnswerRequest struct {
	Over   Way    `json:"over"` // one transport; Connect is how long to wait
	Listen string `json:"listen"`
}

// A Reply is what weft-initiator makes of a request: JSON on its standard output.
type Reply struct {
	Format  int          `json:"format"`
	Version string       `json:"version"`         // of weft-initiator
	Error   string       `json:"error,omitempty"` // why it was not done, or not as it should be
	Hint    string       `json:"hint,omitempty"`  // what to do then
	Probe   *ProbeResult `json:"probe,omitempty"`
	Load    *LoadResult  `json:"load,omitempty"`
}

// A LoadResult is what a load has come to.
type LoadResult struct {
	Transport   string        `json:"transport"`
	Degraded    string        `json:"degraded,omitempty"`
	TLS         string        `json:"tls,omitempty"` // as in ProbeResult
	Mode        string        `json:"mode"`
	Reads       int64         `json:"reads"` // that succeeded
	Failed      int           `json:"failed"`
	BytesPerSec float64       `json:"bytes_per_second"`
	IOPS        float64       `json:"iops"`
	Longest     time.Duration `json:"longest_ns"`      // that a read took
	CPUPerGbit  float64       `json:"cpu_us_per_gbit"` // processor time of the initiator
	Lost        int           `json:"paths_lost"`
	Reconnected int           `json:"paths_reconnected"`
	Worked      *Worked       `json:"worked,omitempty"` // of Work
}

// Worked is what a load has done, by kind of command.
type Worked struct {
	Read    Operations `json:"read"`
	Write   Operations `json:"write"`
	Flush   Operations `json:"flush"`
	Checked int64      `json:"blocks_checked"` // blocks that were read and compared with what was written
	Bad     int64      `json:"blocks_bad"`     // that were not what they must be
}

// Operations are commands of one kind that succeeded.
type Operations struct {
	Done        int64   `json:"done"`
	BytesPerSec float64 `json:"bytes_per_second"`
	IOPS        float64 `json:"iops"`
	Histogram   string  `json:"histogram,omitempty"` // latency.Histogram, text form; nanoseconds
}

// A FormatError is a request or reply of another format than this program's.
type FormatError struct {
	Format  int
	Version string // of who sent it, if it says
}

func (e *FormatError) Error() string {
	from := ""
	if e.Version != "" {
		from = " from version " + e.Version
	}
	return fmt.Sprintf("format %d%s, this is version %s with format %d", e.Format, from, Version(), RequestFormat)
}

// ParseRequest reads a request.
func ParseRequest(text []byte) (*Request, error) {
	var r Request
	if err := parseClosed(text, &r); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	n := 0
	for _, set := range []bool{r.Read != nil, r.Load != nil, r.Probe != nil, r.Answer != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return nil, fmt.Errorf("request: asks for %d things, want 1 of read, load, probe and answer", n)
	}
	if r.Load != nil {
		if err := r.Load.check(); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// check refuses to overwrite what is not named.
func (l *LoadRequest) check() error {
	reads := l.Pattern == "randread" || l.Pattern == "read"
	switch w := l.Work; {
	case w == nil && l.Pattern != "randread":
		return fmt.Errorf("request: load with pattern %q: without work nothing is overwritten, want randread", l.Pattern)
	case w == nil:
	case reads && w.Overwrite != "":
		return fmt.Errorf("request: load with pattern %q is to overwrite %s: it only reads", l.Pattern, w.Overwrite)
	case !reads && (l.Path != "" || w.Overwrite == "" || w.Overwrite != fmt.Sprintf("%s/%d", l.NQN, l.NSID)):
		return fmt.Errorf("request: load with pattern %q overwrites namespace %d of %q, and overwrite names %q", l.Pattern, l.NSID, l.NQN, w.Overwrite)
	}
	return nil
}

// ParseReply reads a reply.
func ParseReply(text []byte) (*Reply, error) {
	var r Reply
	if err := parseClosed(text, &r); err != nil {
		return nil, fmt.Errorf("reply: %w", err)
	}
	switch {
	case r.Version == "":
		return nil, errors.New("reply: names no version")
	case r.Probe != nil && r.Load != nil:
		return nil, errors.New("reply: has two results")
	}
	return &r, nil
}

// parseClosed reads one JSON value of this format, in which every field is known.
func parseClosed(text []byte, into any) error {
	if len(text) > requestMost {
		return fmt.Errorf("%d bytes, at most %d", len(text), requestMost)
	}
	var head struct {
		Format  int    `json:"format"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if head.Format != RequestFormat {
		return &FormatError{head.Format, head.Version}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}
