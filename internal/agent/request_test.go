package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

func way() Way {
	return Way{Transports: []string{"rdma", "tcp"}, From: "10.40.1.1", ToS: 104, Connect: 10 * time.Second, HostNQN: "nqn.2026-11.net.example:h1",
		KeyFile: "/etc/weft/pilot/dhchap/h1.key", SubKeyFile: "/etc/weft/pilot/dhchap/st1.key", TLSKeyFile: "/etc/weft/pilot/tls/h1.key"}
}

func requests() map[string]Request {
	return map[string]Request{
		"read": {Format: RequestFormat, Read: &ReadRequest{Over: way(), Portal: "10.40.1.11:4420", NQN: "nqn.2026-11.net.example:st1", NSID: 1,
			Size: 4096, Depth: 1, Samples: 1000, Warmup: 100, Timeout: 30 * time.Second}},
		"load": {Format: RequestFormat, Load: &LoadRequest{Over: way(), Portals: []string{"10.40.1.11:4420", "10.40.2.11:4420"}, NQN: "nqn.2026-11.net.example:st1", NSID: 1,
			Pattern: "randread", Size: 131072, Depth: 32, Runtime: 10 * time.Second, Ramp: time.Second, Timeout: 30 * time.Second, KeepAlive: 5 * time.Second, Patience: time.Minute}},
		"work": {Format: RequestFormat, Load: &LoadRequest{Over: way(), Portals: []string{"10.40.1.11:4420"}, NQN: "nqn.2026-11.net.example:st1", NSID: 2,
			Pattern: "randrw", Size: 4096, Depth: 16, Runtime: time.Second, Ramp: time.Second, Timeout: 30 * time.Second, KeepAlive: 5 * time.Second,
			Work: &Work{ReadShare: 70, Queues: 4, Rate: 20000, FlushEach: 8, Span: 1 << 30, Overwrite: "nqn.2026-11.net.example:st1/2"}}},
		"probe":  {Format: RequestFormat, Probe: &ProbeRequest{Over: Way{Transports: []string{"tcp"}, Connect: time.Second}, Portal: "10.40.1.11:18515", Size: 64, Samples: 100, Runtime: time.Minute}},
		"answer": {Format: RequestFormat, Answer: &AnswerRequest{Over: Way{Transports: []string{"rdma"}, Connect: time.Second}, Listen: "10.40.1.11:18515"}},
	}
}

func replies() map[string]Reply {
	return map[string]Reply{
		"probed": {Format: RequestFormat, Version: "v1.2.3", Probe: &ProbeResult{Transport: "tcp", Degraded: "no RDMA device has the address", Mode: "event", Local: "10.40.1.1",
			Remote: "10.40.1.11:4420", NQN: "nqn.2026-11.net.example:st1", NSID: 1, Op: "read", Size: 4096, Depth: 1, Samples: 1000, Bytes: 4505600, Elapsed: 1e9, Histogram: "1 10:1000"}},
		"loaded": {Format: RequestFormat, Version: "v1.2.3", Error: "load: 2 commands failed", Load: &LoadResult{Transport: "rdma", Mode: "event", Reads: 1000, Failed: 2,
			BytesPerSec: 1e9, IOPS: 7629.4, Longest: time.Millisecond, CPUPerGbit: 12.5, Lost: 1, Reconnected: 1}},
		"worked": {Format: RequestFormat, Version: "v1.2.3", Load: &LoadResult{Transport: "tcp", Mode: "event", Reads: 700,
			BytesPerSec: 1e9, IOPS: 7629.4, Longest: time.Millisecond, CPUPerGbit: 12.5,
			Worked: &Worked{Read: Operations{700, 7e8, 5340, "1 10:700"}, Write: Operations{300, 3e8, 2289, "1 20:300"}, Flush: Operations{Done: 37}, Checked: 4096}}},
		"refused": {Format: RequestFormat, Version: "v1.2.3", Error: "the device is gone", Hint: "get one"},
	}
}

// TestRequestGolden: what stands in the files is what is sent, and is read as what
// it was. A change of them is another RequestFormat.
func TestRequestGolden(t *testing.T) {
	golden := func(name string, v any, parse func([]byte) (any, error)) {
		t.Run(name, func(t *testing.T) {
			text, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, '\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, want) {
				t.Errorf("%s\nwant %s", text, want)
			}
			if got, err := parse(want); err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for name, r := range requests() {
		golden("request_"+name, &r, func(b []byte) (any, error) { return ParseRequest(b) })
	}
	for name, r := range replies() {
		golden("reply_"+name, &r, func(b []byte) (any, error) { return ParseReply(b) })
	}
}

func TestRequestIsClosed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":          {"", "unexpected end"},
		"another format":   {`{"format":2,"newer":{}}`, "format 2"},
		"unknown field":    {`{"format":1,"answer":{"over":{"transports":["tcp"],"connect_ns":1},"listen":"x","forever":true}}`, `unknown field "forever"`},
		"nothing asked":    {`{"format":1}`, "asks for 0 things"},
		"two things":       {`{"format":1,"read":{},"answer":{}}`, "asks for 2 things"},
		"writes":           {`{"format":1,"load":{"pattern":"randwrite"}}`, "nothing is overwritten"},
		"writes elsewhere": {`{"format":1,"load":{"pattern":"randwrite","nqn":"nqn.a","nsid":1,"work":{"queues":1,"overwrite":"nqn.a/2"}}}`, `overwrites namespace 1 of "nqn.a", and overwrite names "nqn.a/2"`},
		"writes a path":    {`{"format":1,"load":{"pattern":"randwrite","path":"/dev/sda","nqn":"n","nsid":1,"work":{"queues":1,"overwrite":"n/1"}}}`, `overwrites`},
		"reads to write":   {`{"format":1,"load":{"pattern":"randread","nqn":"n","nsid":1,"work":{"queues":1,"overwrite":"n/1"}}}`, `it only reads`},
		"something else":   {`{"format":1,"answer":{}} x`, "invalid character"},
		"too long":         {`{"format":1,"x":"` + strings.Repeat("x", requestMost) + `"}`, "at most"},
	} {
		if _, err := ParseRequest([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestReplyIsClosed(t *testing.T) {
	var format *FormatError
	if _, err := ParseReply([]byte(`{"format":7,"version":"v9.0.0","more":1}`)); !errors.As(err, &format) || format.Version != "v9.0.0" || !strings.Contains(err.Error(), "format 7 from version v9.0.0") {
		t.Errorf("%v", err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"text":          {"weft-initiator v1\n", "invalid character"},
		"no version":    {`{"format":1}`, "no version"},
		"two results":   {`{"format":1,"version":"v1","probe":{},"load":{}}`, "two results"},
		"unknown field": {`{"format":1,"version":"v1","latency":1}`, `unknown field "latency"`},
	} {
		if _, err := ParseReply([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What is parsed says the same when it is written and parsed again.
func FuzzRequest(f *testing.F) {
	for _, r := range requests() {
		text, _ := json.Marshal(r)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRequest(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := ParseRequest(again); err != nil || !bytes.Equal(mustJSON(t, same), again) {
			t.Errorf("%s: %v", again, err)
		}
	})
}

func FuzzReply(f *testing.F) {
	for _, r := range replies() {
		text, _ := json.Marshal(r)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseReply(text)
		if err != nil {
			return
		}
		again := mustJSON(t, r)
		if same, err := ParseReply(again); err != nil || !bytes.Equal(mustJSON(t, same), again) {
			t.Errorf("%s: %v", again, err)
		}
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
