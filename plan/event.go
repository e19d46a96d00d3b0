package plan

import (
	"encoding/json"
	"maps"
	"time"
)

// An Event is one thing that happened during a run. The view, the JSON
// stream, the journal and the tests all read the same events.
//
// As JSON it is one object in a line with Terraform's keys @level, @message,
// @timestamp and type, then the fields of Data at the same level.
type Event struct {
	Time    time.Time
	Type    EventType
	Level   string // info, warn or error; "" is info
	Device  string // HCL address of the device it is about, if any
	Message string // one line for people
	Data    map[string]any
}

// EventType names what happened.
type EventType string

// The event types. A reader ignores types it does not know.
const (
	EventVersion       EventType = "version"        // first of a stream
	EventDiagnostic    EventType = "diagnostic"     // an error or a warning
	EventConnect       EventType = "device_connect" // a device answered, or did not
	EventRead          EventType = "facts"          // a device was read
	EventPlanned       EventType = "planned_change" // one step of the plan
	EventNote          EventType = "note"           // described, not yet managed
	EventChangeSummary EventType = "change_summary" // the plan in numbers
	EventApplyStart    EventType = "apply_start"    // a step begins
	EventApplyComplete EventType = "apply_complete" // a step is done
	EventApplyErrored  EventType = "apply_errored"  // a step failed
	EventCommit        EventType = "commit"         // a device proved and kept its changes
	EventRollback      EventType = "rollback"       // a device was reverted, or could not be
	EventPhase         EventType = "phase"          // a phase of a rollout begins, passes or is rolled back
	EventGate          EventType = "gate_verdict"   // a gate was judged
	EventProbe         EventType = "probe_result"   // one measured pair
	EventVerdict       EventType = "verdict"        // the judgement of a validation
	EventOutput        EventType = "output"         // an output block, computed
	EventLease         EventType = "lease"          // who holds a device
	EventHeartbeat     EventType = "heartbeat"      // still alive
	EventRunSummary    EventType = "run_summary"    // last of a stream
)

// Emit receives events. It may be called from several goroutines at once.
type Emit func(Event)

// MarshalJSON flattens the event into one object.
func (e Event) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	maps.Copy(m, e.Data)
	m["@level"] = e.Level
	if e.Level == "" {
		m["@level"] = "info"
	}
	m["@message"] = e.Message
	m["@timestamp"] = e.Time.UTC().Format(time.RFC3339Nano)
	m["type"] = e.Type
	if e.Device != "" {
		m["device"] = e.Device
	}
	return json.Marshal(m)
}
