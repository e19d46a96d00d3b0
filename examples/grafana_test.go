package examples

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	schema "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int }
		Datasource               struct{ UID string }
		Targets                  []struct{ RefID, Expr string }
	}
}

// Each dashboard has the form that Grafana imports: panels of known types, on a grid of 24
// columns, none over another, each with queries of its own whose brackets close and which
// use no variable that the dashboard has not.
func TestDashboards(t *testing.T) {
	files, err := filepath.Glob("grafana/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v %v", files, err)
	}
	uids := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d.UID == "" || d.Title == "" || d.SchemaVersion < 30 || len(d.Panels) == 0 || uids[d.UID] {
			t.Errorf("%s: %q, %q, schema %d, %d panels", file, d.UID, d.Title, d.SchemaVersion, len(d.Panels))
		}
		uids[d.UID] = true
		if err := takes(text); err != nil {
			t.Errorf("%s is not what Grafana's schema of dashboards takes: %v", file, err)
		}
		variables := map[string]bool{"__rate_interval": true}
		for _, v := range d.Templating.List {
			variables[v.Name] = true
		}
		checkPanels(t, file, &d, variables)
	}
}

// takes reports what Grafana's own schema, of which the types of its SDK are made, has against
// a dashboard: a field that is not known at its place, is missing, or of another type, in panels
// and queries, too. Of words among which there is a choice it knows no list.
func takes(text []byte) error {
	runtime := cog.NewRuntime()
	for _, panel := range []variants.PanelcfgConfig{stat.VariantConfig(), table.VariantConfig(), timeseries.VariantConfig()} {
		runtime.RegisterPanelcfgVariant(panel)
	}
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	var parts struct {
		Panels []struct{ FieldConfig, GridPos json.RawMessage }
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	//lint:ignore SA1019 the form that every Grafana imports; that of its newest, v2, older ones do not take
	all := []error{strictly(text, new(schema.Dashboard))}
	for n, p := range parts.Panels { // which a dashboard reads less strictly
		if err := errors.Join(strictly(p.FieldConfig, new(schema.FieldConfigSource)), strictly(p.GridPos, new(schema.GridPos))); err != nil {
			all = append(all, fmt.Errorf("panels[%d]: %w", n, err))
		}
	}
	return errors.Join(all...)
}

// strictly reads a part of a dashboard.
func strictly(text []byte, part interface {
	UnmarshalJSONStrict([]byte) error
	Validate() error
}) error {
	var errs cog.BuildErrors // empty, and not nil as an error, where nothing is wrong
	if err := part.UnmarshalJSONStrict(text); !errors.As(err, &errs) || len(errs) > 0 {
		return err
	}
	return part.Validate()
}

// Grafana's schema refuses what is no dashboard, wherever that is wrong.
func TestDashboardSchema(t *testing.T) {
	good, err := os.ReadFile("grafana/fabric.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new string }{
		"a field that it does not know":       {`"editable": true`, `"editible": true`},
		"a value of another type":             {`"schemaVersion": 39`, `"schemaVersion": "39"`},
		"a field of a panel":                  {`"gridPos"`, `"gridpos"`},
		"an option that this panel has not":   {`"colorMode": "background"`, `"colourMode": "background"`},
		"thresholds without steps":            {`"steps"`, `"stages"`},
		"a panel of no height":                {`"h": 4`, `"h": 0`},
		"a panel that is wider than the page": {`"w": 6`, `"w": 60`},
		"a time that does not begin":          {`"from"`, `"begin"`},
		"a variable without a kind":           {`"type": "query"`, `"kind": "query"`},
		"a field of a query to Prometheus":    {`"expr"`, `"expression"`},
	} {
		bad := strings.Replace(string(good), c.old, c.new, 1)
		if bad == string(good) {
			t.Errorf("%s: there is no %s", name, c.old)
		} else if err := takes([]byte(bad)); err == nil {
			t.Errorf("%s: %s is taken", name, c.new)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func checkPanels(t *testing.T, file string, d *dashboard, variables map[string]bool) {
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		g := p.GridPos
		if ids[p.ID] || p.ID == 0 || p.Title == "" || p.Description == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 || !strings.Contains(" stat timeseries table ", " "+p.Type+" ") {
			t.Errorf("%s: panel %d %q: %+v", file, p.ID, p.Title, p)
		}
		ids[p.ID] = true
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if over := taken[[2]int{x, y}]; over != "" {
					t.Fatalf("%s: %q lies over %q", file, p.Title, over)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] || q.RefID == "" || !closes(q.Expr) {
				t.Errorf("%s: %q: %q %s", file, p.Title, q.RefID, q.Expr)
			}
			refs[q.RefID] = true
			for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(q.Expr, -1) {
				if !variables[m[1]] {
					t.Errorf("%s: %q: there is no variable %s", file, p.Title, m[1])
				}
			}
		}
	}
}

// closes reports whether brackets and quotes of an expression close.
func closes(expr string) bool {
	var open []rune
	quoted := false
	for _, r := range expr {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("([{", r):
			open = append(open, map[rune]rune{'(': ')', '[': ']', '{': '}'}[r])
		case strings.ContainsRune(")]}", r):
			if len(open) == 0 || open[len(open)-1] != r {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return expr != "" && len(open) == 0 && !quoted
}
