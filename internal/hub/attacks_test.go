package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"weft/internal/store/nats"
)

// An attack is what a raw client sends with a credential.
type attack struct {
	name  string
	by    []Member
	quiet bool // the server replaces what was sent
	do    func(t *testing.T, g *target, m Member, conn *client.Conn)
}

// mine is a subject that a member may write.
func (m Member) mine(lease bool) string {
	return "$KV.weft-" + m.Owner + map[bool]string{true: "-lease"}[lease] + ".site.dc1.mine"
}

// put publishes with headers and a reply subject, and does not wait.
func put(t *testing.T, conn *client.Conn, subject, reply, data string, headers ...string) {
	t.Helper()
	msg := client.NewMsg(subject)
	msg.Reply, msg.Data = reply, []byte(data)
	for i := 0; i < len(headers); i += 2 {
		msg.Header[headers[i]] = []string{headers[i+1]}
	}
	if err := conn.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
}

var (
	all     = []Member{alice, ci, dc1, bob, far}
	workers = []Member{dc1, far}
)

func attacks() []attack {
	list := []attack{
		{name: "reply of a document", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for _, to := range g.targets() {
				if !m.writes(to) {
					put(t, conn, m.mine(false), to, "x")
					put(t, conn, m.mine(true), to, "x")
				}
			}
		}},
		{name: "reply of the API", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for _, to := range g.targets() {
				if !m.writes(to) {
					put(t, conn, "$JS.API.STREAM.INFO.KV_weft-"+m.Owner, to, "")
					put(t, conn, "$JS.API.STREAM.MSG.GET.KV_weft-"+m.Owner, to, `{"last_by_subj":"$KV.weft-`+m.Owner+`.site.dc1.x"}`)
				}
			}
		}},
		{name: "reply of a pull", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for i, to := range g.targets() {
				if !m.writes(to) {
					name := consumer(t, conn, m, fmt.Sprintf("pull%d", i), `"deliver_policy":"all","ack_policy":"none"`)
					put(t, conn, "$JS.API.CONSUMER.MSG.NEXT.KV_weft-"+m.Owner+"."+name, to, `{"batch":10}`)
				}
			}
		}},
		{name: "push consumer", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for i, to := range g.targets() {
				if !m.writes(to) {
					consumer(t, conn, m, fmt.Sprintf("push%d", i), `"deliver_policy":"all","ack_policy":"none","deliver_subject":"`+to+`"`)
				}
			}
		}},
		{name: "durable consumers", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for i := range 20 {
				consumer(t, conn, m, fmt.Sprintf("durable%d", i), fmt.Sprintf(`"deliver_policy":"all","ack_policy":"explicit","durable_name":"durable%d"`, i))
			}
		}},
		{name: "another's consumer", by: all, do: stealConsumer},
		{name: "trace", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for _, to := range g.targets() {
				put(t, conn, m.mine(false), m.reply(conn), "x", "Nats-Trace-Dest", to)
			}
		}},
		{name: "blob of the owner", by: workers, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			if m.Owner == "pilot" {
				request(t, conn, g.blob+".00000000", "another plan")
				request(t, conn, g.blob+".end", `{"size":0,"chunks":0}`)
			} else {
				put(t, conn, g.blob+".00000000", "", "another plan")
			}
		}},
		{name: "API", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for _, owner := range []string{"pilot", "other", "_hub"} {
				for _, what := range []string{"STREAM.DELETE.KV_weft-%s", "STREAM.PURGE.KV_weft-%s", "STREAM.UPDATE.KV_weft-%s", "STREAM.CREATE.x%s", "STREAM.MSG.DELETE.KV_weft-%s",
					"STREAM.SNAPSHOT.KV_weft-%s", "STREAM.PURGE.KV_weft-%s-lease", "STREAM.LEADER.STEPDOWN.KV_weft-%s", "CONSUMER.DURABLE.CREATE.KV_weft-%s.x",
					"CONSUMER.NAMES.KV_weft-%s", "CONSUMER.LIST.KV_weft-%s", "DIRECT.GET.KV_weft-%s", "STREAM.RESTORE.x%s", "META.LEADER.STEPDOWN%s"} {
					put(t, conn, fmt.Sprintf("$JS.API."+what, owner), m.reply(conn), `{"name":"KV_weft-`+owner+`","seq":1}`)
				}
			}
			put(t, conn, "$SYS.REQ.SERVER.PING", m.reply(conn), "")
			put(t, conn, "$SYS.REQ.ACCOUNT.$G.JSZ", m.reply(conn), "")
			put(t, conn, "_R_.x.y", "", "{}")
		}},
		{name: "subscriptions", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for _, subject := range []string{">", "*.>", "$KV.>", "$JS.>", "_R_.>", "WEFT.>", "$SYS.>", nats.Inbox("UX") + ".>"} {
				if _, err := conn.SubscribeSync(subject); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{name: "another owner's", by: all, do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
			for _, to := range g.targets() {
				if !m.writes(to) {
					put(t, conn, to, m.reply(conn), "x")
				}
			}
		}},
	}
	for _, lease := range []bool{false, true} {
		for _, h := range [][]string{{"Nats-Rollup", "all"}, {"Nats-Rollup", "sub"}, {"Nats-TTL", "1s"}, {"Nats-Schedule", "@every 1s", "Nats-Schedule-Target", "$KV.weft-other.run.r1.plan"},
			{"Nats-Msg-Id", "1"}, {"Nats-Incr", "+1"}, {"Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1", "Nats-Batch-Commit", "1"},
			{"Nats-Expected-Stream", "KV_weft-other"}, {"nats-rollup", "all"}, {"Nats-Marker-Reason", "MaxAge"}, {"Nats-Request-Info", `{"svc":"$SYS"}`}} {
			list = append(list, attack{name: fmt.Sprintf("header %s %v", h[0], lease), by: all, quiet: h[0] == "Nats-Request-Info", do: func(t *testing.T, g *target, m Member, conn *client.Conn) {
				put(t, conn, m.mine(lease), m.reply(conn), "x", h...)
				if lease && m.Kind == Worker {
					put(t, conn, "$KV.weft-"+m.Owner+".FENCE", m.reply(conn), "x", h...)
					put(t, conn, "WEFT."+m.Owner+".blob.x.y", m.reply(conn), "x", h...)
				}
			}})
		}
	}
	return list
}

// reply is where a member's answers may come.
func (m Member) reply(conn *client.Conn) string { return conn.NewRespInbox() }

// request sends and waits for the answer, whatever it is.
func request(t *testing.T, conn *client.Conn, subject, data string) string {
	t.Helper()
	m, err := conn.Request(subject, []byte(data), time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	return string(m.Data)
}

// consumer asks for one of documents, and returns its name, or the one that it would have.
func consumer(t *testing.T, conn *client.Conn, m Member, name, config string) string {
	t.Helper()
	stream := "KV_weft-" + m.Owner
	text := request(t, conn, "$JS.API.CONSUMER.CREATE."+stream+"."+name, `{"stream_name":"`+stream+`","config":{"name":"`+name+`",`+config+`}}`)
	var got struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name == "" {
		return name
	}
	return got.Name
}

// stealConsumer ends a watch of the owner's person, and reads how far it is.
func stealConsumer(t *testing.T, g *target, m Member, conn *client.Conn) {
	who := map[string]Member{"pilot": alice, "other": bob}[m.Owner]
	if m.Name == who.Name {
		who = dc1
	}
	theirs := g.dial(t, g.creds[who.Name], nil)
	who.Owner = m.Owner
	stream := "KV_weft-" + m.Owner
	name := consumer(t, theirs, who, "watch", `"deliver_policy":"all","ack_policy":"none"`)
	for _, what := range []string{"DELETE", "INFO"} {
		if text := request(t, conn, "$JS.API.CONSUMER."+what+"."+stream+"."+name, ""); !strings.Contains(text, `"error"`) {
			t.Errorf("%s of a consumer of %s: %.80s", what, who.Name, text)
		}
	}
	if _, err := g.js.Consumer(t.Context(), stream, name); err != nil {
		t.Errorf("the consumer of %s: %v", who.Name, err)
	}
}
