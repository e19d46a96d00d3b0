package arch

import (
	"flag"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/formats.golden, for a person to review")

// formats names the types that are written as JSON or TOML: in files of users, records of
// runs, on devices, to agents, to programs that read weft. A type that is renamed is renamed
// here; its lines in the golden stay.
var formats = map[string]string{
	"weft/cmd/weft-initiator.checked":        "agent checked",
	"weft/internal/agent.Discovered":         "agent discovered",
	"weft/cmd/weft-initiator.probed":         "agent measured",
	"weft/cmd/weft-initiator.verbed":         "agent measured verbs",
	"weft/internal/agent.ProbeResult":        "agent probe",
	"weft/internal/agent.Reply":              "agent reply",
	"weft/cmd/weft-initiator.report":         "agent report",
	"weft/internal/agent.Request":            "agent request",
	"weft/internal/agent.Target":             "agent target configuration",
	"weft/internal/agent.TargetStatus":       "agent target status",
	"weft/internal/doctor.Assessment":        "assessment",
	"weft/internal/run.AuditEntry":           "audit",
	"weft/internal/prove.Baseline":           "baseline",
	"weft/internal/prove.Snapshot":           "baseline snapshot",
	"weft/inventory/catalogue.Catalogue":     "catalogue",
	"weft/internal/discover.Coverage":        "discover coverage",
	"weft/internal/discover.Finding":         "discover finding",
	"weft/internal/doctor.Saying":            "doctor finding",
	"weft/internal/doctor.Flavour":           "doctor flavour",
	"weft/internal/doctor.Pair":              "doctor pair",
	"weft/internal/doctor.Subject":           "doctor subject",
	"weft/internal/prove.Cable":              "event cable",
	"weft/plan.Change":                       "event change",
	"weft/internal/prove.Check":              "event check",
	"weft/internal/prove.Comparison":         "event comparison",
	"weft/plan.Counts":                       "event counts",
	"weft/plan.driftedChange":                "event drifted",
	"weft/modules.Facts":                     "event facts of a device",
	"weft/plan.Identity":                     "event identity",
	"weft/internal/prove.Judgement":          "event judgement",
	"weft/plan.Lease":                        "event lease",
	"weft/internal/prove.Load":               "event load",
	"weft/internal/prove.Output":             "event output",
	"weft/internal/prove.Row":                "event row",
	"weft/plan.running":                      "event running",
	"weft/cmd/weft.explanation":              "explain",
	"weft/cmd/weft.privileges":               "explain privileges",
	"weft/cmd/weft.keptFacts":                "facts",
	"weft/internal/graph.Graph":              "graph",
	"weft/internal/hub.about":                "hub about",
	"weft/internal/hub.Copied":               "hub copied",
	"weft/internal/hub.Effect":               "hub effect",
	"weft/internal/hub.Made":                 "hub made",
	"weft/internal/hub.Member":               "hub member",
	"weft/internal/hub.Server":               "hub server",
	"weft/internal/hub.Started":              "hub started",
	"weft/internal/hub.Status":               "hub status",
	"weft/plan.record":                       "journal",
	"weft/internal/run.JournalEntry":         "record journal",
	"weft/internal/labctl.Answer":            "lab answer",
	"weft/internal/labctl.DeviceStatus":      "lab device",
	"weft/internal/labctl.Grammar":           "lab grammar of weft-lab",
	"weft/internal/labctl.GrammarLine":       "lab grammar",
	"weft/internal/labctl.Hello":             "lab hello",
	"weft/internal/labctl.Order":             "lab order",
	"weft/internal/labctl.Reply":             "lab reply",
	"weft/internal/labctl.Request":           "lab request",
	"weft/internal/labctl.State":             "lab state",
	"weft/internal/lab.vcenterSpec":          "lab vcenter",
	"weft/modules/host.leaseFile":            "lease of a server",
	"weft/modules/vcenter.hold":              "lease of a vCenter",
	"weft/modules/host.ledger":               "ledger",
	"weft/modules/host.Emptying":             "maintenance of an ESXi host",
	"weft/internal/run.Kept":                 "measurements of a run",
	"weft/plan.shown":                        "plan --json",
	"weft/plan.file":                         "plan file",
	"weft/internal/run.Abandoned":            "record abandoned",
	"weft/internal/run.begun":                "record begun",
	"weft/internal/run.Head":                 "record head",
	"weft/internal/run.Marking":              "record marks",
	"weft/internal/run.outcome":              "record outcome",
	"weft/internal/run.keptPlan":             "record plan",
	"weft/internal/run.progress":             "record progress",
	"weft/internal/run.running":              "record running",
	"weft/internal/run.task":                 "record task",
	"weft/internal/run.heldValue":            "record value",
	"weft/internal/run.verdicts":             "record verdicts",
	"weft/internal/report.Report":            "report",
	"weft/plan.resultDoc":                    "result of an apply",
	"weft/plan/rollout.Run":                  "run",
	"weft/plan.Mark":                         "run lock",
	"weft/internal/review.sarif":             "sarif",
	"weft/inventory/language.Language":       "schema",
	"weft/internal/prove.Look":               "soak sample",
	"weft/internal/store/nats.end":           "store blob end",
	"weft/internal/store/dir.about":          "store directory",
	"weft/internal/store/check.Finding":      "store finding",
	"weft/internal/store.Holding":            "store holding",
	"weft/internal/store.record":             "store lease",
	"weft/internal/nvme/backend.mirrorState": "target mirror state",
}

// opaque are functions that encode a value of no static type, and why that is covered.
var opaque = map[string]string{
	"weft/modules/host.encode type parameter T":                         "the states of kinds, which are listed as ledger SYSTEM.KIND",
	"weft/inventory/language.MarshalJSON inventory/language/console.go": "values of files",
	"weft/internal/run.changed internal/run/progress.go":                "documents of a record, which are found where they are put into the map",
}

// TestFormats compares all that weft writes with testdata/formats.golden. A changed line there
// is a changed format: devices, stores and programs of users hold the former one.
func TestFormats(t *testing.T) {
	f := &finder{p: load(t), sinks: map[sink]string{}, kinds: map[string]types.Type{}, keys: map[string]bool{}}
	f.walk()
	byName, tags := map[string]types.Type{}, map[string]string{}
	for _, e := range f.found {
		byName[e.typ.String()], tags[e.typ.String()] = e.typ, e.tag
	}
	s := &shaper{tag: "json", names: formats, seen: map[types.Object]bool{}}
	for _, label := range slices.Sorted(maps.Keys(f.kinds)) {
		s.list(label, f.kinds[label], nil)
	}
	for name, label := range formats {
		typ := byName[name]
		if typ == nil {
			t.Errorf("%s is not written, or has another name", name)
			continue
		}
		s.tag = tags[name]
		s.list(label, typ, nil)
	}
	for _, e := range f.found {
		n, named := types.Unalias(e.typ).(*types.Named)
		if !named {
			s.tag = e.tag
			s.list("object", e.typ, nil)
		} else if !s.seen[n.Obj()] && written(n) == "" {
			t.Errorf("%s writes %s, which no entry of formats reaches", e.place, e.typ)
		}
	}
	for _, where := range f.unknown {
		if opaque[where] == "" {
			t.Errorf("%s encodes a value of no static type", where)
		}
	}
	for where := range opaque {
		if !slices.Contains(f.unknown, where) {
			t.Errorf("%s encodes no value of no static type", where)
		}
	}
	lines := append(s.lines, sorted(f.keys)...)
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "\n") + "\n"
	const golden = "testdata/formats.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("-golden +now:\n%s", d)
	}
}
