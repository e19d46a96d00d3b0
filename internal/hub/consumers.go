package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// consumers are those that a tenant has, by stream and name.
type consumers struct {
	mu    sync.Mutex
	names []string
	busy  int
	tried time.Time // to find out which have ended
}

func (c *consumers) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = slices.DeleteFunc(c.names, func(n string) bool { return n == name })
}

// owns reports whether STREAM.NAME is a consumer that was made for the tenant.
func (t *tenant) owns(consumer string) bool {
	_, name, _ := strings.Cut(consumer, ".")
	return strings.HasPrefix(name, t.tag()) && !strings.Contains(name, ".")
}

// tag begins the names of the tenant's consumers.
func (t *tenant) tag() string { return "weft-" + t.Key + "-" }

// A consumerSpec is a request to make a consumer: what clients of weft send, and no more.
type consumerSpec struct {
	Stream string `json:"stream_name"`
	Action string `json:"action"`
	Config struct {
		Name      string                  `json:"name"`
		Deliver   jetstream.DeliverPolicy `json:"deliver_policy"`
		Start     uint64                  `json:"opt_start_seq"`
		Ack       jetstream.AckPolicy     `json:"ack_policy"`
		Replay    jetstream.ReplayPolicy  `json:"replay_policy"`
		Filter    string                  `json:"filter_subject"`
		Filters   []string                `json:"filter_subjects"`
		Threshold time.Duration           `json:"inactive_threshold"`
		Replicas  int                     `json:"num_replicas"`
		Memory    bool                    `json:"mem_storage"`
	} `json:"config"`
}

// create makes a consumer that delivers to who pulls, keeps nothing on disk, and ends
// when it is not used for a minute.
func (b *broker) create(t *tenant, rest string, m *client.Msg) error {
	var spec consumerSpec
	stream, _, _ := strings.Cut(rest, ".")
	if err := strict(m.Data, &spec); err != nil {
		return refuse("weft makes no such consumer: %v", err)
	}
	if spec.Stream != stream || spec.Config.Ack != jetstream.AckNonePolicy {
		return refuse("weft makes no such consumer: stream %.100q, acknowledgements %v", spec.Stream, spec.Config.Ack)
	}
	if err := b.reserve(t); err != nil {
		return err
	}
	go func() {
		info, err := b.makeConsumer(t, stream, spec)
		if err != nil {
			b.answer(m, &refusal{503, err.Error()})
			return
		}
		text, err := json.Marshal(struct {
			Type string `json:"type"`
			*jetstream.ConsumerInfo
		}{"io.nats.jetstream.api.v1.consumer_create_response", info})
		if err == nil && answerable(m.Reply) {
			_ = b.conn.Publish(m.Reply, text) // the client asks again
		}
	}()
	return nil
}

func (b *broker) makeConsumer(t *tenant, stream string, spec consumerSpec) (*jetstream.ConsumerInfo, error) {
	name := t.tag() + rand.Text() // who knows it may pull
	c := jetstream.ConsumerConfig{Name: name, DeliverPolicy: spec.Config.Deliver, OptStartSeq: spec.Config.Start, AckPolicy: jetstream.AckNonePolicy,
		FilterSubjects: spec.Config.Filters, InactiveThreshold: time.Minute, Replicas: 1, MemoryStorage: true, MaxWaiting: 16}
	if spec.Config.Filter != "" {
		c.FilterSubjects = append(c.FilterSubjects, spec.Config.Filter)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	made, err := b.js.CreateConsumer(ctx, stream, c)
	t.held.mu.Lock()
	defer t.held.mu.Unlock()
	t.held.busy--
	if err != nil {
		return nil, err
	}
	t.held.names = append(t.held.names, stream+"."+name)
	return made.CachedInfo(), nil
}

// reserve counts a consumer that is to be made. At the limit those that have ended by
// themselves are counted no more.
func (b *broker) reserve(t *tenant) error {
	t.held.mu.Lock()
	defer t.held.mu.Unlock()
	if len(t.held.names)+t.held.busy >= most && time.Since(t.held.tried) > time.Second {
		t.held.tried = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		t.held.names = slices.DeleteFunc(t.held.names, func(n string) bool {
			stream, name, _ := strings.Cut(n, ".")
			_, err := b.js.Consumer(ctx, stream, name)
			return errors.Is(err, jetstream.ErrConsumerNotFound)
		})
	}
	if len(t.held.names)+t.held.busy >= most {
		return &refusal{429, fmt.Sprintf("this credential has %d lists and watches in progress", most)}
	}
	t.held.busy++
	return nil
}
