package hub

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
	"weft/internal/store/nats"
)

// A broker stands between credentials and streams. It gets each request of a tenant at
// a subject that names the tenant's key, passes on what an honest client sends, and
// refuses and reports the rest.
//
// Each server of a hub has one. A tenant's requests are answered by that of the server
// that it is connected to.
type broker struct {
	conn  *client.Conn
	js    jetstream.JetStream
	note  func(string)
	name  func(key string) string
	space *space

	begin      func(what, key string) string // of the subjects of a tenant on this server
	disconnect func(*tenant)
	back       string // begins the subjects at which it gets answers
}

func newBroker(conn *client.Conn, a *access, p *Place) (*broker, error) {
	js, err := jetstream.New(conn)
	b := &broker{conn: conn, js: js, note: a.note, name: a.name, begin: a.begin, disconnect: a.disconnect, back: "HUBANSWER." + rand.Text() + "."}
	b.space = &space{p: p, used: b.used, note: a.note, streams: map[string]*usage{}}
	if err == nil {
		// A client cannot name the server's own reply subjects for its requests, but may
		// answer there: the subject of an answer says where it belongs.
		_, err = conn.Subscribe(b.back+">", b.relay)
	}
	return b, err
}

// used asks how many bytes a stream has, and may have.
func (b *broker) used(ctx context.Context, stream string) (bytes, most int64, err error) {
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return 0, 0, err
	}
	info := s.CachedInfo()
	return int64(info.State.Bytes), info.Config.MaxBytes, nil
}

// noReply marks a request without a reply subject.
const noReply = "none"

// relay leads an answer back to who asked.
func (b *broker) relay(m *client.Msg) {
	who, rest, _ := strings.Cut(strings.TrimPrefix(m.Subject, b.back), ".")
	text, reply, _ := strings.Cut(rest, ".")
	if size, err := strconv.Atoi(text); err == nil {
		b.space.done(size)
	}
	if reply != noReply {
		_ = b.conn.PublishMsg(&client.Msg{Subject: reply, Header: m.Header, Data: m.Data}) // without an answer the client asks again
	}
	if len(m.Data) < longest && bytes.Contains(m.Data, []byte("maximum messages per subject exceeded")) {
		b.note(fmt.Sprintf(refused+"%s: a part of a blob that is there already", b.name(who)))
	}
}

// serve begins to serve a tenant.
func (b *broker) serve(t *tenant) error {
	for prefix, handle := range map[string]func(subject string, m *client.Msg){
		b.begin(ask, t.Key): func(subject string, m *client.Msg) { b.handle(t, subject, m) },
		b.begin(tap, t.Key): func(subject string, m *client.Msg) { b.inspect(t, subject, m) },
	} {
		sub, err := b.conn.Subscribe(prefix+">", func(m *client.Msg) { handle(strings.TrimPrefix(m.Subject, prefix), m) })
		if err != nil {
			return err
		}
		t.subs = append(t.subs, sub)
		if err := sub.SetPendingLimits(1<<14, 64<<20); err != nil {
			return err
		}
	}
	// Subscriptions are in effect before clients are told that they are let in.
	return b.conn.FlushTimeout(patience)
}

// A refusal is what a tenant is told of a request that is not passed on.
type refusal struct {
	code int
	why  string
}

func (e *refusal) Error() string { return e.why }

func refuse(format string, v ...any) error { return &refusal{403, fmt.Sprintf(format, v...)} }

// handle passes a request on, or refuses it.
func (b *broker) handle(t *tenant, subject string, m *client.Msg) {
	if err := b.admits(t); err != nil {
		b.answer(m, err)
		return
	}
	err := b.pass(t, subject, m)
	if err == nil {
		return
	}
	b.note(fmt.Sprintf(refused+"%s: %s: %v", t.who(), subject, err))
	b.answer(m, err)
}

// inspect counts requests that reach JetStream directly, and reports a reply subject that is
// not the client's own. It leads nowhere.
func (b *broker) inspect(t *tenant, subject string, m *client.Msg) {
	for begin := range direct {
		if strings.HasPrefix(subject, begin) {
			_ = b.admits(t) // it is on its way
		}
	}
	if m.Reply != "" && !strings.HasPrefix(m.Reply, nats.Inbox(t.Key)+".") {
		b.note(fmt.Sprintf(refused+"%s: %s: the reply subject %s is not the client's", t.who(), subject, m.Reply))
	}
}

// answer tells a client why it is refused, in the form of JetStream's own answers.
func (b *broker) answer(m *client.Msg, err error) {
	if !answerable(m.Reply) {
		return
	}
	code := 403
	if r, ok := err.(*refusal); ok {
		code = r.code
	}
	text, failed := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"code": code, "err_code": code, "description": "the hub refuses this: " + err.Error()}})
	if failed == nil {
		_ = b.conn.Publish(m.Reply, text) // without a connection there is no client to answer
	}
}

// answerable: the server has replaced a tenant's reply subject by one that leads back to
// the tenant's account. A few it does not replace ($JS.ACK): those are not for clients.
func answerable(reply string) bool { return strings.HasPrefix(reply, "_R_.") }

// longest is how long a request of the API may be.
const longest = 4 << 10

func (b *broker) pass(t *tenant, subject string, m *client.Msg) error {
	if m.Reply != "" && !answerable(m.Reply) {
		return refuse("the reply subject %s is not the client's", m.Reply)
	}
	verb, rest := apiVerb(subject)
	if verb != "" && len(m.Data) > longest {
		return refuse("the request has %d bytes, of at most %d", len(m.Data), longest)
	}
	switch verb {
	case "":
		return b.write(t, subject, m)
	case "STREAM.PURGE":
		return b.deleteBlob(t, subject, m)
	case "CONSUMER.CREATE":
		return b.create(t, rest, m)
	case "CONSUMER.INFO", "CONSUMER.DELETE":
		if !t.owns(rest) {
			return refuse("the consumer belongs to another credential")
		}
		if verb == "CONSUMER.DELETE" {
			t.held.forget(rest)
		}
		return b.forward(t, subject, m, nil, "-")
	}
	return refuse("weft sends no such request")
}

// apiVerb takes a subject of JetStream's API apart: what is asked, and of what.
func apiVerb(subject string) (verb, rest string) {
	text, ok := strings.CutPrefix(subject, "$JS.API.")
	if !ok {
		return "", ""
	}
	for _, verb := range []string{"STREAM.PURGE", "CONSUMER.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE"} {
		if rest, ok := strings.CutPrefix(text, verb+"."); ok {
			return verb, rest
		}
	}
	return text, ""
}

// forward sends a request to its subject with the given headers and no others. counted is the
// number of bytes that the space has admitted, or "-".
func (b *broker) forward(t *tenant, subject string, m *client.Msg, h client.Header, counted string) error {
	// The answer's subject says whose it is, how much is not on its way any more, and
	// where it belongs.
	return b.conn.PublishMsg(&client.Msg{Subject: subject, Header: h, Data: m.Data,
		Reply: b.back + t.Key + "." + counted + "." + cmp.Or(m.Reply, noReply)})
}

// headers are those that a client of weft sends with a document, and what they may say.
var headers = map[string]func(string) bool{
	"KV-Operation":                        func(v string) bool { return v == "DEL" },
	"Weft-Mark":                           func(v string) bool { return len(v) <= 64 },
	"Weft-Replaces":                       number,
	"Nats-Expected-Last-Subject-Sequence": number,
	"Nats-Expected-Last-Subject-Sequence-Subject": func(v string) bool { return strings.HasPrefix(v, "$KV.weft-") },
}

func number(v string) bool {
	_, err := strconv.ParseUint(v, 10, 64)
	return err == nil
}

// serverHeader is of the server: who sent a request.
const serverHeader = "Nats-Request-Info"

// write passes on a document, a lease or a part of a blob.
func (b *broker) write(t *tenant, subject string, m *client.Msg) error {
	for name, values := range m.Header {
		if name == serverHeader {
			continue
		}
		if ok := headers[name]; ok == nil || len(values) != 1 || !ok(values[0]) {
			return refuse("weft sends no header %.100q", name+": "+strings.Join(values, ", "))
		}
	}
	h := m.Header
	delete(h, serverHeader)
	stream, key := t.stream(subject)
	switch {
	case stream == "":
		return refuse("the subject is not of the store of %s", t.Owner)
	case strings.HasPrefix(subject, "WEFT."):
		if len(h) > 0 {
			return refuse("a part of a blob has no headers")
		}
		if sum, part, _ := strings.Cut(key, "."); store.Digest("sha256-"+sum).Check() != nil || !isPart(part) {
			return refuse("the subject names no part of a blob")
		}
	case key == fence:
		if len(m.Data) > 0 || len(h["KV-Operation"]) > 0 {
			return refuse("a fence has no content")
		}
	default:
		if err := store.CheckKey(strings.ReplaceAll(key, ".", "/")); err != nil {
			return refuse("%v", err)
		}
		if err := store.CheckValue(key, m.Data); err != nil {
			return refuse("%v", err)
		}
	}
	what := keeps
	switch {
	case key == fence:
		what = reads
	case len(m.Data) == 0 && len(h["KV-Operation"]) > 0:
		what = removes
	case strings.HasSuffix(stream, "-lease") && len(m.Data) < 1<<10 && h.Get("Nats-Expected-Last-Subject-Sequence") != "" && h.Get("Nats-Expected-Last-Subject-Sequence") != "0":
		what = renews
	}
	if err := b.space.admit(t, stream, len(m.Data), what); err != nil {
		return err
	}
	return b.forward(t, subject, m, h, strconv.Itoa(len(m.Data)))
}

// fence is a key of no document: replicas agree on it (store/nats).
const fence = "FENCE"

// stream is that of a tenant's owner in which a subject is kept, and the rest of it.
func (t *tenant) stream(subject string) (name, key string) {
	bucket := "weft-" + store.Segment(t.Owner)
	for prefix, name := range map[string]string{"$KV." + bucket + ".": "KV_" + bucket, "$KV." + bucket + "-lease.": "KV_" + bucket + "-lease",
		"WEFT." + store.Segment(t.Owner) + ".blob.": bucket + "-blob"} {
		if key, ok := strings.CutPrefix(subject, prefix); ok {
			return name, key
		}
	}
	return "", ""
}

// isPart: parts of a blob are numbered, and the last is called end.
func isPart(text string) bool {
	return text == "end" || len(text) == 8 && strings.Trim(text, "0123456789") == ""
}

// deleteBlob passes on that all parts of one blob are removed.
func (b *broker) deleteBlob(t *tenant, subject string, m *client.Msg) error {
	var asked struct {
		Filter string `json:"filter"`
	}
	if err := strict(m.Data, &asked); err != nil {
		return refuse("%v", err)
	}
	_, key := t.stream(asked.Filter)
	if sum, rest, _ := strings.Cut(key, "."); store.Digest("sha256-"+sum).Check() != nil || rest != ">" {
		return refuse("weft removes one blob at a time, and filter %.100q is not one", asked.Filter)
	}
	return b.forward(t, subject, m, nil, "-")
}

// strict reads JSON that has the fields that are expected, and no others.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
