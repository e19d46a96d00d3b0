package language

import (
	"github.com/zclconf/go-cty/cty"

	"weft/internal/metric"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
)

func (b *builder) validation(o *object) {
	v := &inventory.Validation{
		Block: b.block(o),
		Name:  o.fullName(),
		Probe: b.text(o, "probe"),
		Pairs: b.text(o, "pairs"),
	}
	v.AllowUnmeasured = b.unmeasured(o)
	v.Compare = b.texts(o, "compare")
	if v.Probe == "nvme-load" {
		v.Load = &inventory.Load{Pattern: b.text(o, "rw"), ReadShare: b.integer(o, "read_share"), Queues: b.integer(o, "queues"),
			Rate: float64(b.integer(o, "rate")), FlushEach: b.integer(o, "fsync"), Span: unitOf(b, o, "span", parseSize)}
	}
	if len(v.Compare) > 0 || v.Load != nil {
		v.Depth, v.Runtime = b.integer(o, "depth"), unitOf(b, o, "runtime", parseDuration)
	}
	if c := o.child("before"); c != nil {
		v.Before = &inventory.Before{Block: b.block(c), Server: one[inventory.Server](b, c, "server"), Device: b.text(c, "device")}
	}
	if v.Probe != "" || len(v.Compare) > 0 {
		v.Samples = b.integer(o, "samples")
		for _, text := range b.texts(o, "sizes") {
			if n, err := parseSize(text); err == nil {
				v.Sizes = append(v.Sizes, int(n))
			}
		}
	}
	v.Metrics = slice.Map(o.all("metric"), b.metric)
	keep(o, v, &b.m.Validations)
}

// unmeasured are the devices and systems that allow_unmeasured names.
func (b *builder) unmeasured(o *object) []string {
	v, ok := b.set(o, "allow_unmeasured")
	if !ok {
		return nil
	}
	_, words := flatten(v)
	return append(slice.Map(words, cty.Value.AsString), slice.Map(b.references(o, "allow_unmeasured"), func(r *object) string { return r.addr })...)
}

func (b *builder) site(o *object) {
	s := &inventory.Site{Block: b.block(o), Name: o.fullName()}
	var incomplete bool
	s.Select, incomplete = b.selected(o, func(string) bool { return false })
	s.Incomplete = s.Incomplete || incomplete
	keep(o, s, &b.m.Sites)
}

func (b *builder) metric(o *object) *inventory.Metric {
	m := &inventory.Metric{
		Block:      b.block(o),
		Name:       o.label,
		Source:     b.text(o, "source"),
		Size:       int(unitOf(b, o, "size", parseSize)),
		Unit:       b.text(o, "unit"),
		Delta:      b.flag(o, "delta"),
		Regression: unitOf(b, o, "regression", parsePercent),
	}
	b.measure(o, m)
	b.limitOf(o, m)
	if v, ok := b.set(o, "min"); ok {
		m.HasMin = true
		m.Min, _ = v.AsBigFloat().Float64()
	}
	return m
}

// measure reads the name of a metric that is no counter.
func (b *builder) measure(o *object, m *inventory.Metric) {
	if o.body.attrs["source"] != nil || m.Incomplete {
		return
	}
	known := metric.Declared()
	var ok bool
	if m.Measure, ok = metric.Parse(m.Name); !ok {
		m.Incomplete = true
		b.report(problem.New(problem.Metric, *o.header, "unknown metric", "%q is not one of %s, and has no source.%s", m.Name, problem.OrList(known), problem.DidYouMean(m.Name, known)))
	}
}

func (b *builder) rollout(o *object) {
	r := &inventory.Rollout{
		Block:          b.block(o),
		Name:           o.fullName(),
		MaxUnavailable: b.integer(o, "max_unavailable"),
		MaxFailures:    b.integer(o, "max_failures"),
		OnFailure:      b.text(o, "on_failure"),
		AcceptNoUndo:   b.flag(o, "accept_no_undo"),
	}
	r.Phases = slice.Map(o.all("phase"), b.phase)
	keep(o, r, &b.m.Rollouts)
}

func (b *builder) phase(o *object) *inventory.Phase {
	p := &inventory.Phase{
		Block:  b.block(o),
		Name:   o.label,
		Batch:  b.texts(o, "batch"),
		Record: many[inventory.Validation](b, o, "record"),
		Gate:   many[inventory.Validation](b, o, "gate"),
		Soak:   unitOf(b, o, "soak", parseDuration),
		Window: unitOf(b, o, "window", inventory.ParseWindow),

		Restart: b.text(o, "restart"), RestartTimeout: unitOf(b, o, "restart_timeout", parseDuration),
	}
	b.approves(o, p)
	b.selects(o, p)
	return p
}

// approves reads who must approve a phase.
func (b *builder) approves(o *object, p *inventory.Phase) {
	v, ok := b.set(o, "approve")
	if !ok {
		return
	}
	if v.Type() == cty.String {
		p.Approve = v.AsString()
		return
	}
	p.Approve, p.Approvals = "signed", 1
	for name, item := range v.AsValueMap() {
		if name == "count" {
			n, _ := item.AsBigFloat().Int64()
			p.Approvals = int(n)
			continue
		}
		p.NotBy = append(p.NotBy, slice.Map(item.AsValueSlice(), cty.Value.AsString)...)
	}
}
